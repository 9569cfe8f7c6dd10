package kafkachaos;

import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.kafka.autoconfigure.DefaultKafkaConsumerFactoryCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.kafka.annotation.KafkaListener;
import tools.jackson.databind.json.JsonMapper;

/**
 * A consumer as Spring for Apache Kafka's quick tour shows it: a listener, and all else is Boot's,
 * which takes the brokers, the group and the client's name from SPRING_KAFKA_… and closes at a signal.
 */
@SpringBootApplication
public class Application {
    private final JsonMapper json = new JsonMapper();

    public static void main(String[] args) {
        SpringApplication.run(Application.class, args);
    }

    @KafkaListener(topics = "${KAFKA_TOPIC}")
    public void listen(String value) {
        System.out.println("done id=" + json.readTree(value).get("id").asLong());
    }

    /** An empty instance id is refused, so it is only set where there is one. */
    @Bean
    DefaultKafkaConsumerFactoryCustomizer instance(@Value("${KAFKA_GROUP_INSTANCE_ID:}") String id) {
        return factory -> {
            if (!id.isEmpty()) {
                factory.updateConfigs(Map.of(ConsumerConfig.GROUP_INSTANCE_ID_CONFIG, id));
            }
        };
    }
}
