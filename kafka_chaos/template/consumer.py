"""A small consumer: it prints a line for each record, and leaves its group on SIGTERM."""

import json
import os
import signal
import sys

from confluent_kafka import Consumer

running = True


def stop(*_):
    """End the loop once the record at hand is done, for what was polled counts as processed."""
    global running
    running = False


signal.signal(signal.SIGTERM, stop)
consumer = Consumer(
    {
        "bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"],
        "group.id": os.environ["KAFKA_GROUP_ID"],
        "client.id": os.environ["KAFKA_CLIENT_ID"],
        "auto.offset.reset": "earliest",
    }
)
consumer.subscribe([os.environ["KAFKA_TOPIC"]])
while running:
    message = consumer.poll(1.0)
    if message is None:
        continue
    if message.error():
        print(message.error(), file=sys.stderr)
        continue
    order = json.loads(message.value())
    print(f"done id={order['id']}", flush=True)
consumer.close()  # commits, and leaves the group, so that the others need not wait
