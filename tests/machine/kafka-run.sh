#!/bin/bash
# As Kafka's own image starts: its wrapper turns KAFKA_ variables into server.properties and formats
# the storage (a container that starts again has that already), and then the server takes over.
libs='/opt/kafka/libs/*'
said=$(java -Xmx128m -XX:TieredStopAtLevel=1 -cp "$libs" kafka.docker.KafkaDockerWrapper setup \
    --default-configs-dir /etc/kafka/docker \
    --mounted-configs-dir /mnt/shared/config \
    --final-configs-dir /opt/kafka/config 2>&1) \
    || grep -qi 'already formatted' <<<"$said" || { echo "$said"; exit 1; }
# shellcheck disable=SC2086 # several options each
exec java $KAFKA_HEAP_OPTS $KAFKA_JVM_PERFORMANCE_OPTS $KAFKA_LOG4J_OPTS $KAFKA_OPTS \
    -cp "$libs" kafka.Kafka /opt/kafka/config/server.properties
