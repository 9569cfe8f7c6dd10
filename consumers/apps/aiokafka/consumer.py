"""A consumer as aiokafka's guide shows it: `async for`, autocommit, `stop()` in a `finally`."""

import asyncio
import json
import os
import signal

from aiokafka import AIOKafkaConsumer


async def consume() -> None:
    """Process records until this task is cancelled."""
    consumer = AIOKafkaConsumer(
        os.environ["KAFKA_TOPIC"],
        bootstrap_servers=os.environ["KAFKA_BOOTSTRAP_SERVERS"],
        group_id=os.environ["KAFKA_GROUP_ID"],
        client_id=os.environ["KAFKA_CLIENT_ID"],
        group_instance_id=os.environ.get("KAFKA_GROUP_INSTANCE_ID"),
        auto_offset_reset="earliest",
    )
    await consumer.start()
    try:
        async for message in consumer:
            order = json.loads(message.value)
            print(f"done id={order['id']}", flush=True)  # noqa: T201
    finally:
        await consumer.stop()


async def main() -> None:
    """Consume until a signal comes."""
    consuming = asyncio.create_task(consume())
    told = False

    def stop() -> None:
        nonlocal told
        told = True
        consuming.cancel()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    try:
        await consuming
    except asyncio.CancelledError:
        if not told:
            raise


if __name__ == "__main__":
    asyncio.run(main())
