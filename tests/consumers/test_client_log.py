import pytest

from consumers.history_rows import ClientLogEvent, parse_client_log, parse_librdkafka_log

# Captured from librdkafka 2.16.0 against Kafka 4.3.1.
SESSION = (
    "%4|1795255782.080|SESSTMOUT|stop-1#consumer-1| [thrd:main]: Consumer group session timed out "
    "(in join-state steady) after 9313 ms without a successful response from the group coordinator "
    "(broker 3, last error was Success): revoking assignment and rejoining group"
)
MAX_POLL = (
    "%4|1795255720.192|MAXPOLL|stall-sync-1#consumer-1| [thrd:main]: Application maximum poll "
    "interval (8000ms) exceeded by 251ms (adjust max.poll.interval.ms for long-running message "
    "processing): leaving group"
)
OTHERS = [
    (
        "%5|1795255895.998|REQTMOUT|freeze-1#consumer-1| [thrd:GroupCoordinator]: "
        "GroupCoordinator/2: Timed out HeartbeatRequest in flight (after 6007ms, timeout #0): "
        "possibly held back by preceeding OffsetCommitRequest with timeout in 53695ms"
    ),
    (
        "%4|1795255544.059|GETPID|producer-1#producer-1| [thrd:main]: Failed to acquire "
        "idempotence PID from broker 127.0.0.1:39445/2: Broker: Coordinator load in progress"
    ),
    "Traceback (most recent call last):",
    "",
    "%4|",
]


@pytest.mark.parametrize(
    ("line", "event", "at_us", "duration_ms"),
    [
        (SESSION + "\n", "session_timed_out", 1_795_255_782_080_000, 9313.0),
        (MAX_POLL, "max_poll_exceeded", 1_795_255_720_192_000, 8251.0),  # all without a poll
        # In other words it is an event all the same.
        ("%4|1.5|SESSTMOUT|m#consumer-1| [thrd:main]: timed", "session_timed_out", 1_500_000, None),
        (
            "%4|1.5|MAXPOLL|m#consumer-1| [thrd:main]: too long",
            "max_poll_exceeded",
            1_500_000,
            None,
        ),
    ],
)
def test_an_event_has_its_own_time_and_how_long_it_was(
    line: str, event: str, at_us: int, duration_ms: float | None
) -> None:
    text = line.partition("#consumer-1| ")[2].strip()
    assert [ClientLogEvent(event, at_us, duration_ms, text)] == parse_librdkafka_log([line])


def test_other_lines_are_passed_over() -> None:
    events = parse_librdkafka_log([*OTHERS, SESSION, *OTHERS, MAX_POLL])
    assert [e.event for e in events] == ["session_timed_out", "max_poll_exceeded"]


# Captured from kafka-clients 4.3.1.
JAVA = "2026-11-21T13:59:06.480004 {} [Consumer clientId=member-2, groupId=orders] {}"
UNAVAILABLE = (
    "Group coordinator 127.0.0.1:39029 (id: 2147483645 rack: null isFenced: false) is unavailable "
    "or invalid due to cause: {}. isDisconnected: false. Rediscovery will be attempted."
)


@pytest.mark.parametrize(
    ("logger", "text", "events"),
    [
        ("INFO ConsumerCoordinator", UNAVAILABLE.format("null"), ["coordinator_lost"]),
        (
            "INFO ConsumerCoordinator",
            UNAVAILABLE.format("session timed out without receiving a heartbeat response"),
            ["session_timed_out", "coordinator_lost"],
        ),
        (
            "DEBUG ConsumerCoordinator",
            "Sending FindCoordinator request to broker 127.0.0.1:39029 (id: 2 rack: null)",
            ["coordinator_asked"],
        ),
        (
            "INFO ConsumerCoordinator",
            "Discovered group coordinator 127.0.0.1:39029 (id: 2147483645 rack: null)",
            ["coordinator_found"],
        ),
        (
            "DEBUG ConsumerCoordinator",
            "Sending Heartbeat request with generation 1 and member id member-2-1 to coordinator",
            ["heartbeat_sent"],
        ),
        (
            "INFO NetworkClient",
            "Cancelled in-flight HEARTBEAT request with correlation id 152 due to node 1",
            ["heartbeat_failed"],
        ),
        (
            "WARN ConsumerCoordinator",
            "consumer poll timeout has expired. This means the time between subsequent calls …",
            ["max_poll_exceeded"],
        ),
        (
            "DEBUG AbstractFetch",
            "Fetch READ_COMMITTED at offset 17 for partition t-0 returned fetch data Partition…",
            ["fetched"],
        ),
        ("INFO ConsumerCoordinator", "(Re-)joining group", []),
    ],
)
def test_the_java_client_reports_its_coordinator_and_heartbeats(
    logger: str, text: str, events: list[str]
) -> None:
    found = parse_client_log("java", ["Java said something else", JAVA.format(logger, text) + "\n"])
    assert events == [event.event for event in found]
    assert all(event.text == text for event in found)
    assert all(event.at_us == 1_795_269_546_480_004 for event in found)


def test_a_line_of_the_java_client_needs_a_whole_stamp_and_may_name_an_instance_first() -> None:
    line = JAVA.format("INFO ConsumerCoordinator", "Discovered group coordinator x")
    static = line.replace("clientId", "instanceId=member-2, clientId")
    assert ["coordinator_found"] == [event.event for event in parse_client_log("java", [static])]
    assert [] == parse_client_log("java", [line[7:], "2026 INFO " + line[32:]])


def test_each_client_has_a_log_of_its_own() -> None:
    assert [] == parse_client_log("java", [SESSION])
    assert ["session_timed_out"] == [e.event for e in parse_client_log("librdkafka", [SESSION])]
