# The whole tool in an image, for machines that are not Linux and for those that shall stay as they are:
#
#   docker build -t kafka-chaos .
#   docker run --rm --init -v "$PWD:/work" kafka-chaos experiment broker-kill
#
# Everything is fetched when it is built (minutes, and 2 GB), and nothing when it runs. docs/tests-and-ci.md has more.
# The base: a Linux with bash and Python 3.11 to 3.14 with venv. A digest cannot be moved, as a tag can.
ARG BASE=python:3.13-slim-trixie@sha256:9d2e5553305c7c7b0097999bb17187c69b921ccd6bc9d40e4bb5ebe652c00285
FROM ${BASE}

# "later" leaves the set-up to the first run: for a small image, with the cache in a volume.
ARG SET_UP=now
# Other versions of Kafka besides, such as "4.2.1 4.4.0".
ARG KAFKA=

COPY .ci/install /opt/kafka-chaos/source/.ci/install
COPY LICENSE NOTICE requirements.lock /opt/kafka-chaos/source/
COPY harness /opt/kafka-chaos/source/harness
COPY experiments /opt/kafka-chaos/source/experiments
COPY consumers /opt/kafka-chaos/source/consumers
COPY kafka_chaos /opt/kafka-chaos/source/kafka_chaos

# The user is not root, and has the number that the first user of a Linux has, whose folders it can then write.
RUN /opt/kafka-chaos/source/.ci/install /opt/kafka-chaos \
    && rm -r /opt/kafka-chaos/source \
    && groupadd --non-unique --gid 1000 chaos \
    && useradd --non-unique --uid 1000 --gid 1000 --create-home chaos \
    && mkdir -p /opt/kafka-chaos/cache /work \
    && chown chaos:chaos /opt/kafka-chaos/cache /work \
    && chmod 1777 /home/chaos

ENV HOME=/home/chaos KAFKA_CHAOS_CACHE=/opt/kafka-chaos/cache PATH=/opt/kafka-chaos/bin:$PATH
USER chaos
WORKDIR /work

# Readable for everybody: on a Linux the image may have to run as another user.
RUN if [ "$SET_UP" = now ]; then \
        kafka-chaos setup \
        && for version in $KAFKA; do kafka-chaos setup --kafka "$version" || exit; done \
        && chmod -R a+rX "$KAFKA_CHAOS_CACHE" \
        && rm -rf /home/chaos/.cache; \
    fi

ENTRYPOINT ["kafka-chaos"]
CMD ["--help"]
