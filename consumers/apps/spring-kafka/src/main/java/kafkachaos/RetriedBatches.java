package kafkachaos;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.List;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Profile;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.listener.CommonDelegatingErrorHandler;
import org.springframework.kafka.listener.CommonErrorHandler;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.stereotype.Component;
import org.springframework.util.backoff.FixedBackOff;

/** Posts each batch to its store, and tries a batch that was refused again until it is taken. */
@Component
@Profile("retried-batches")
class RetriedBatches {
    private static final long PAUSE_MS = 3_000;
    private final HttpClient client = HttpClient.newHttpClient();
    private final URI store;

    RetriedBatches(@Value("${KAFKA_CHAOS_SINK}") URI store) {
        this.store = store;
    }

    @KafkaListener(topics = "${KAFKA_TOPIC}", batch = "true", autoStartup = "true")
    void listen(List<String> values) throws IOException, InterruptedException {
        var batch = BodyPublishers.ofString("[" + String.join(",", values) + "]");
        var request = HttpRequest.newBuilder(store).POST(batch).build();
        int status = client.send(request, BodyHandlers.discarding()).statusCode();
        if (status / 100 != 2) {
            throw new IOException("the store answered " + status);
        }
    }

    @Bean
    static CommonErrorHandler retries() {
        var pause = new FixedBackOff(PAUSE_MS, FixedBackOff.UNLIMITED_ATTEMPTS);
        return new CommonDelegatingErrorHandler(new DefaultErrorHandler(pause));
    }
}
