import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.state.Stores;

/**
 * Counts records by a key that they do not come with, as Kafka's tutorial counts words, so that Streams
 * sends them through a repartition topic and keeps the counts in a changelog topic. Ended by close, with
 * the argument "leave" by the close that leaves the group; other arguments are settings of Streams.
 */
public final class Counter {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) {
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(System.getenv("KAFKA_TOPIC"))
                .peek((key, value) -> System.out.println("done id=" + id(value)))
                .groupBy((key, value) -> String.valueOf(id(value) % 100))
                .count(Materialized.as(Stores.inMemoryKeyValueStore("counts")));
        KafkaStreams streams = new KafkaStreams(builder.build(), settings(arguments));
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            if (leaves(arguments)) {
                streams.close(CloseOptions.groupMembershipOperation(
                        CloseOptions.GroupMembershipOperation.LEAVE_GROUP));
            } else {
                streams.close();
            }
        }));
        streams.start();
    }

    private static boolean leaves(String[] arguments) {
        return arguments.length > 0 && arguments[0].equals("leave");
    }

    private static long id(String value) {
        try {
            JsonNode record = JSON.readTree(value);
            return record.get("id").asLong();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private static Properties settings(String[] arguments) {
        Properties settings = new Properties();
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, System.getenv("KAFKA_BOOTSTRAP_SERVERS"));
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, System.getenv("KAFKA_GROUP_ID"));
        settings.put(StreamsConfig.CLIENT_ID_CONFIG, System.getenv("KAFKA_CLIENT_ID"));
        settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        for (String argument : arguments) {
            String[] setting = argument.split("=", 2);
            if (setting.length == 2) settings.put(setting[0], setting[1]);
        }
        return settings;
    }
}
