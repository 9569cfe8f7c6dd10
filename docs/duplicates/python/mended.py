"""Prints a line for each record. On SIGTERM it commits what it has done, and leaves its group."""

import json
import os
import signal

from confluent_kafka import Consumer

running = True


def stop(*_):
    """End the loop once the record at hand is done."""
    global running
    running = False


signal.signal(signal.SIGTERM, stop)
consumer = Consumer(
    {
        "bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"],
        "group.id": os.environ["KAFKA_GROUP_ID"],
        "auto.offset.reset": "earliest",
    }
)
consumer.subscribe([os.environ["KAFKA_TOPIC"]])
while running:
    message = consumer.poll(1.0)
    if message is None or message.error():
        continue
    order = json.loads(message.value())
    print(f"done id={order['id']}", flush=True)
consumer.close()
