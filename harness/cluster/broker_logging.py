"""Logging of the brokers: the coordinator's half of every history comes from these two files.

`requests` is Kafka's request log at DEBUG, which already has the whole of each request and answer
(TRACE adds nothing for the group protocol). The filter keeps the calls of the group protocol only.
Every line is flushed as it is written, so a SIGKILL loses nothing that happened before it.

Kafka 3 logs through SLF4J too, so the same Log4j 2 with its microseconds serves it; its own
reload4j knows milliseconds only. Its coordinator tells of a member that joins at DEBUG.
"""

from typing import Final

# What a group's members and its coordinator say to each other, in all protocols.
GROUP_APIS: Final = (
    "JOIN_GROUP",
    "SYNC_GROUP",
    "HEARTBEAT",
    "LEAVE_GROUP",
    "OFFSET_COMMIT",
    "OFFSET_FETCH",
    "OFFSET_DELETE",
    "TXN_OFFSET_COMMIT",
    "CONSUMER_GROUP_HEARTBEAT",
    "FIND_COORDINATOR",
)

# What decides where a member starts to read: it asks for an end of the log only where its group
# has committed nothing that it can use, and records may be deleted behind its back.
POSITION_APIS: Final = ("LIST_OFFSETS", "DELETE_RECORDS")

# Microseconds in UTC: both histories are joined on these stamps. S, the fraction of the second, and
# not n, which Log4j 2.25 writes as the nanosecond without its leading zeros.
_STAMP: Final = "%d{yyyy-MM-dd'T'HH:mm:ss.SSSSSS}{UTC}"

_WANTED: Final = (
    f"(?s).*&quot;requestApiKeyName&quot;:&quot;({'|'.join((*GROUP_APIS, *POSITION_APIS))})&quot;.*"
)

LOG4J2: Final = f"""<?xml version="1.0" encoding="UTF-8"?>
<Configuration status="warn">
  <Appenders>
    <File name="server" fileName="${{sys:harness.logs}}.server.log">
      <PatternLayout pattern="{_STAMP} %p %c{{1}} %m%n"/>
    </File>
    <File name="requests" fileName="${{sys:harness.logs}}.requests.log">
      <RegexFilter regex="{_WANTED}" onMatch="ACCEPT" onMismatch="DENY"/>
      <PatternLayout pattern="{_STAMP} %m%n"/>
    </File>
  </Appenders>
  <Loggers>
    <Root level="info"><AppenderRef ref="server"/></Root>
    <Logger name="kafka.request.logger" level="debug" additivity="false">
      <AppenderRef ref="requests"/>
    </Logger>
    <Logger name="kafka.coordinator.group.GroupCoordinator" level="debug"/>
    <Logger name="org.apache.kafka.common.config.AbstractConfig" level="warn"/>
  </Loggers>
</Configuration>
"""
