#!/bin/bash
# As Kafka's own image starts: its wrapper turns KAFKA_ variables into server.properties and formats
# the storage, and then the server takes this process over.
set -e
libs='/opt/kafka/libs/*'
java -Xmx128m -XX:TieredStopAtLevel=1 -cp "$libs" kafka.docker.KafkaDockerWrapper setup \
    --default-configs-dir /etc/kafka/docker \
    --mounted-configs-dir /mnt/shared/config \
    --final-configs-dir /opt/kafka/config
# shellcheck disable=SC2086 # several options each
exec java $KAFKA_HEAP_OPTS $KAFKA_JVM_PERFORMANCE_OPTS $KAFKA_LOG4J_OPTS $KAFKA_OPTS \
    -cp "$libs" kafka.Kafka /opt/kafka/config/server.properties
