// The consumer that KafkaJS's guide shows: eachMessage, offsets committed by the library,
// disconnect() before the process ends.
const { Kafka } = require('kafkajs')

const kafka = new Kafka({
  clientId: process.env.KAFKA_CLIENT_ID,
  brokers: process.env.KAFKA_BOOTSTRAP_SERVERS.split(','),
})
const consumer = kafka.consumer({ groupId: process.env.KAFKA_GROUP_ID })

async function run() {
  await consumer.connect()
  await consumer.subscribe({ topic: process.env.KAFKA_TOPIC, fromBeginning: true })
  await consumer.run({
    eachMessage: async ({ message }) => {
      const order = JSON.parse(message.value.toString())
      process.stdout.write(`done id=${order.id}\n`)
    },
  })
}

async function fail(error) {
  console.error(error)
  try {
    await consumer.disconnect()
  } finally {
    process.exit(1)
  }
}

// KafkaJS restarts the consumer itself after most errors. After the others it stops for good, and
// only this event says so.
consumer.on(consumer.events.CRASH, ({ payload }) => {
  if (!payload.restart) fail(payload.error)
})

for (const type of ['unhandledRejection', 'uncaughtException']) process.on(type, fail)

for (const signal of ['SIGTERM', 'SIGINT']) {
  process.once(signal, () => {
    consumer.disconnect().then(() => process.exit(0), fail)
  })
}

run().catch(fail)
