"""A consumer as confluent-kafka-python's README shows it: `poll`, autocommit, `close()` at the end.

Arguments such as `group.protocol=consumer` are more settings of the library.
"""

import json
import os
import signal
import sys
from types import FrameType

from confluent_kafka import Consumer

running = True


def stop(_number: int, _frame: FrameType | None) -> None:
    """End the loop, so that the consumer is closed."""
    global running
    running = False


def main() -> None:
    """Consume until a signal comes."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    settings = {
        "bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"],
        "group.id": os.environ["KAFKA_GROUP_ID"],
        "client.id": os.environ["KAFKA_CLIENT_ID"],
        "auto.offset.reset": "earliest",
    }
    if "KAFKA_GROUP_INSTANCE_ID" in os.environ:
        settings["group.instance.id"] = os.environ["KAFKA_GROUP_INSTANCE_ID"]
    settings.update(argument.split("=", 1) for argument in sys.argv[1:])
    consumer = Consumer(settings)
    try:
        consumer.subscribe([os.environ["KAFKA_TOPIC"]])
        while running:
            message = consumer.poll(1.0)
            if message is None:
                continue
            if message.error():
                print(message.error(), file=sys.stderr)  # noqa: T201
                continue
            order = json.loads(message.value())
            print(f"done id={order['id']}", flush=True)  # noqa: T201
    finally:
        consumer.close()


if __name__ == "__main__":
    main()
