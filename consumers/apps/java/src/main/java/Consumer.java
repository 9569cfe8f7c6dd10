import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * A consumer as KafkaConsumer's Javadoc shows it: automatic commits, ended by wakeup and close.
 * Arguments such as group.protocol=consumer are more of its settings.
 */
public final class Consumer {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws IOException {
        KafkaConsumer<String, String> consumer = new KafkaConsumer<>(
                settings(arguments), new StringDeserializer(), new StringDeserializer());
        AtomicBoolean closed = new AtomicBoolean();
        Thread main = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            closed.set(true);
            consumer.wakeup();
            join(main); // the JVM ends with the last hook, and must not before the consumer is closed
        }));
        try (consumer) {
            consumer.subscribe(List.of(System.getenv("KAFKA_TOPIC")));
            while (!closed.get()) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100))) {
                    process(record);
                }
            }
        } catch (WakeupException woken) {
            if (!closed.get()) throw woken;
        }
    }

    private static void process(ConsumerRecord<String, String> record) throws IOException {
        System.out.println("done id=" + JSON.readTree(record.value()).get("id").asLong());
    }

    private static Properties settings(String[] arguments) {
        Properties settings = new Properties();
        settings.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, System.getenv("KAFKA_BOOTSTRAP_SERVERS"));
        settings.put(ConsumerConfig.GROUP_ID_CONFIG, System.getenv("KAFKA_GROUP_ID"));
        settings.put(ConsumerConfig.CLIENT_ID_CONFIG, System.getenv("KAFKA_CLIENT_ID"));
        settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        String instance = System.getenv("KAFKA_GROUP_INSTANCE_ID");
        if (instance != null) settings.put(ConsumerConfig.GROUP_INSTANCE_ID_CONFIG, instance);
        for (String argument : arguments) {
            String[] setting = argument.split("=", 2);
            settings.put(setting[0], setting[1]);
        }
        return settings;
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
