// Prints a line for each record. On SIGTERM it leaves its group.
import { Kafka } from 'kafkajs'

const kafka = new Kafka({ brokers: process.env.KAFKA_BOOTSTRAP_SERVERS!.split(',') })
const consumer = kafka.consumer({ groupId: process.env.KAFKA_GROUP_ID! })

async function run(): Promise<void> {
  await consumer.connect()
  await consumer.subscribe({ topic: process.env.KAFKA_TOPIC!, fromBeginning: true })
  await consumer.run({
    eachMessage: async ({ message }) => {
      const order = JSON.parse(message.value!.toString())
      process.stdout.write(`done id=${order.id}\n`)
    },
  })
}

function fail(error: unknown): void {
  console.error(error)
  consumer.disconnect().finally(() => process.exit(1))
}

// KafkaJS restarts after most errors. After the others only this event says that it stopped.
consumer.on(consumer.events.CRASH, ({ payload }) => {
  if (!payload.restart) fail(payload.error)
})

for (const signal of ['SIGTERM', 'SIGINT']) {
  process.once(signal, () => {
    consumer.disconnect().then(() => process.exit(0), fail) // leaves the group
  })
}

run().catch(fail)
