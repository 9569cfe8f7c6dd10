"""Prints a line for each record. SIGTERM ends it at once, and its group hears nothing of that."""

import json
import os

from confluent_kafka import Consumer

consumer = Consumer(
    {
        "bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"],
        "group.id": os.environ["KAFKA_GROUP_ID"],
        "auto.offset.reset": "earliest",
    }
)
consumer.subscribe([os.environ["KAFKA_TOPIC"]])
while True:
    message = consumer.poll(1.0)
    if message is None or message.error():
        continue
    order = json.loads(message.value())
    print(f"done id={order['id']}", flush=True)
