// The consumer that confluent-kafka-javascript's quick start shows: eachMessage, offsets committed
// by the library, disconnect() before the process ends.
const { Kafka } = require('@confluentinc/kafka-javascript').KafkaJS

const settings = {
  'bootstrap.servers': process.env.KAFKA_BOOTSTRAP_SERVERS,
  'group.id': process.env.KAFKA_GROUP_ID,
  'client.id': process.env.KAFKA_CLIENT_ID,
  'auto.offset.reset': 'earliest',
}
if (process.env.KAFKA_GROUP_INSTANCE_ID) {
  settings['group.instance.id'] = process.env.KAFKA_GROUP_INSTANCE_ID
}
const consumer = new Kafka().consumer(settings)

async function run() {
  await consumer.connect()
  await consumer.subscribe({ topics: [process.env.KAFKA_TOPIC] })
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

for (const type of ['unhandledRejection', 'uncaughtException']) process.on(type, fail)

for (const signal of ['SIGTERM', 'SIGINT']) {
  process.once(signal, () => {
    consumer.disconnect().then(() => process.exit(0), fail)
  })
}

run().catch(fail)
