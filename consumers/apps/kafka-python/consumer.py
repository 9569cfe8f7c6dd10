"""A consumer as kafka-python's guide shows it: iterate, autocommit, `close()` at the end."""

import json
import os
import signal
import sys
from types import FrameType

from kafka import KafkaConsumer


def stop(_number: int, _frame: FrameType | None) -> None:
    """End the iteration, so that the consumer is closed."""
    sys.exit(0)


def main() -> None:
    """Consume until a signal comes."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    consumer = KafkaConsumer(
        os.environ["KAFKA_TOPIC"],
        bootstrap_servers=os.environ["KAFKA_BOOTSTRAP_SERVERS"].split(","),
        group_id=os.environ["KAFKA_GROUP_ID"],
        client_id=os.environ["KAFKA_CLIENT_ID"],
        group_instance_id=os.environ.get("KAFKA_GROUP_INSTANCE_ID"),
        auto_offset_reset="earliest",
    )
    try:
        for message in consumer:
            order = json.loads(message.value)
            print(f"done id={order['id']}", flush=True)  # noqa: T201
    finally:
        consumer.close()


if __name__ == "__main__":
    main()
