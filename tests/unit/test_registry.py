"""Experiments by name, their settings, and everything that is refused before anything runs."""

import ast
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import experiments
from harness.base.errors import BadInput
from harness.catalogue import registry
from harness.catalogue.refusals import check_together
from harness.cluster.plan import broker_settings
from harness.experiment import UNSET, Cluster, Expect, Experiment, Fault, Group, Verdict
from harness.run.faults import KINDS

RULE = Expect(rule="R02")
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", registry.names())
def test_every_experiment_says_its_claim_why_and_what_to_watch(name: str) -> None:
    experiment = registry.load(name)

    assert experiment.claim.endswith(".")
    assert "Why:" in registry.describe(name)
    assert "Watch:" in registry.describe(name)


@pytest.mark.parametrize("name", registry.names())
def test_every_experiment_only_declares(name: str) -> None:
    """A docstring, imports of the declaring names, one value: no functions, no I/O."""
    file = Path(experiments.__path__[0]) / f"{name.replace('-', '_')}.py"
    tree = ast.parse(file.read_text())

    assert [ast.Expr, ast.ImportFrom, ast.Assign] == [type(node) for node in tree.body]


def test_every_kind_of_fault_is_exercised() -> None:
    used = {fault.kind for name in registry.names() for fault in registry.load(name).faults}

    assert set(KINDS) == used


def test_an_unknown_experiment_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(BadInput, match="did you mean 'broker-kill'"):
        registry.load("brokerkill")


def test_an_unknown_setting_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(BadInput, match="did you mean 'members'"):
        registry.with_settings(registry.load("baseline"), {"member": "4"})


def test_a_setting_keeps_its_type() -> None:
    turned = registry.with_settings(registry.load("baseline"), {"group.members": "4"})

    assert 4 == turned.group.members
    with pytest.raises(BadInput, match="takes a whole number, such as 4, not 'many'"):
        registry.with_settings(turned, {"group.members": "many"})


def test_a_whole_number_is_a_length_of_time_too() -> None:
    assert (
        7.5 == registry.with_settings(registry.load("baseline"), {"duration_s": "7.5"}).duration_s
    )


def test_settings_are_turned_together_whatever_their_order() -> None:
    settings = {
        "assignor": "cooperative-sticky",
        "session_timeout_ms": "90000",
        "heartbeat_interval_ms": "30000",
        "max_poll_interval_ms": "120000",
        "group.protocol": "cooperative",
    }
    for order in (settings, dict(reversed(settings.items()))):
        group = registry.with_settings(registry.load("baseline"), order).group
        assert ("cooperative-sticky", "cooperative") == (group.assignor, group.protocol)


def test_a_setting_that_is_turned_twice_is_refused() -> None:
    with pytest.raises(BadInput, match=r"group\.client is set twice, also as 'client'"):
        registry.with_settings(
            registry.load("baseline"), {"group.client": "java", "client": "java"}
        )


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("sabotage", "never-comit", "sabotage 'never-comit' is unknown: choose"),
        ("batch_records", "0", "batch_records of 0 is below 1"),
        ("process_us", "-1", "process_us of -1 is below 0"),
        ("heartbeat_interval_ms", "0", "heartbeat_interval_ms of 0 is below 1"),
        ("record_bytes", "7", "record_bytes of 7 is below 8"),
        ("duration_s", "-5", r"duration_s is -5\.0: use 0"),
        ("duration_s", "nan", "duration_s is nan: use 0"),
        ("duration_s", "soon", "takes a number, such as 12, not 'soon'"),
    ],
)
def test_what_a_program_of_ours_would_refuse_is_refused_before_anything_starts(
    name: str, value: str, says: str
) -> None:
    with pytest.raises(BadInput, match=says):
        registry.checked(registry.with_settings(registry.load("baseline"), {name: value}))


def test_a_setting_that_makes_nonsense_is_refused_as_the_declaration_would_be() -> None:
    with pytest.raises(BadInput, match="outside the 6000 to 1800000"):
        registry.with_settings(registry.load("baseline"), {"session_timeout_ms": "5000"})


def declared(*rules: str, **fields: Any) -> Experiment:
    judged = tuple(Expect(rule=rule) for rule in rules) or (RULE,)
    return Experiment(**{"claim": "x.", "rules": judged, **fields})


def described(line: str) -> Experiment:
    """As "stall-consumer of member 1, lasts_s=7, R07, max_poll_interval_ms=8000" says.

    A value is of the fault, of the group or of the cluster; "nothing" stands for no fault.
    """
    what, *words = line.split(", ")
    kind, _, target = what.partition(" of ")
    values = dict(word.split("=") for word in words if "=" in word)
    of_fault, of_group, of_cluster = (
        {name: _value(text) for name, text in values.items() if name in each.__dataclass_fields__}
        for each in (Fault, Group, Cluster)
    )
    return declared(
        *(word for word in words if "=" not in word),
        faults=(Fault(kind=kind, target=target, **of_fault),) if target else (),
        group=Group(**of_group),
        cluster=Cluster(**of_cluster),
    )


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


REFUSED = r"""
nothing, R021 → there is no rule 'R021': did you mean \w+\? `./kafka-chaos list --rules`
kill-brokers of controller → 'kill-broker'
kill-broker of broker 1 → never heals: say in lasts_s
kill-consumer of member 1, lasts_s=3 → cannot be undone: leave lasts_s=3 out
kill-broker of broker 4, lasts_s=3 → the experiment has broker 1 to 3
kill-broker of leader of t-6, lasts_s=3 → partitions 0 to 5
kill-broker of boss, lasts_s=3 → is not a role
add-partitions of topic, more_partitions=2, commit=transaction → would have nowhere to go
kill-broker of controller, lasts_s=3, controllers=3 → could be any of 3, .*: use controllers=1
nothing, client=java, client_version=1.2.3 → Java client of Kafka 1.2.3 is too old: choose 2.5.0
nothing, client_version=2.x → confluent-kafka 2.x is not a release: write three numbers
nothing, protocol=consumer, client_version=2.3.0 → confluent-kafka 2.3.0 does not speak protocol
nothing, kafka_version=3.6.2 → Kafka 3.6.2 is too old: choose 3.7.0 or newer
nothing, brokers=1 → min_insync_replicas of 2 is more than brokers of 1 can hold
kill-consumer of member 1, members=1 → 1 member, 0 started and 1 ended by faults: no member is
nothing, kafka_version=3.9.2, protocol=consumer → Kafka 3.9.2 has a preview of protocol consumer
kill-broker of member 1, lasts_s=3 → kill-broker cannot hit 'member 1'
stall-consumer of member 1, lasts_s=5 → the stall of 5 s ends before session_timeout_ms of 6 s
stall-consumer of member 1, lasts_s=7, R07, max_poll_interval_ms=8000 → 7 s ends before .* of 8 s
stall-consumer of member 1, lasts_s=12, R34, max_poll_interval_ms=8000 → passes .* of 8 s
bounce-consumer of member 1, lasts_s=2, how=close → give the group static=True
bounce-consumer of member 1, lasts_s=2, static=True → choose close or kill
bounce-consumer of member 1, lasts_s=3, how=kill, static=True → may be silent for 6.5 s
start-duplicate of member 1 → give the group static=True
start-duplicate of member 1, how=close, static=True → has no variant 'close': leave how='close' out
stall-callback of member 1, lasts_s=8, max_poll_interval_ms=8000 → does not pass .* of 8 s clearly
stall-callback of member 1, lasts_s=10, max_poll_interval_ms=8000 → nothing .* starts one
latency of member 1, lasts_s=3, latency_ms=6000 → is not below session_timeout_ms of 6000
kill-consumer of member 1, how=in a transaction → its group commits by 'sync'
kill-consumer of member 1, how=kill → has no variant 'kill': use how='at once' or
isolate-broker of any broker, lasts_s=3, how=peers → all share loopback: use --backend docker
isolate-broker of any broker, lasts_s=3, how=sideways → no variant 'sideways': use how='peers' or
add-partitions of topic → more_partitions of 1
add-partitions of member 1, more_partitions=2 → cannot hit 'member 1': use topic
isolate of producers, lasts_s=3, of_broker=coordinator → has no links to one broker only
isolate of member 1, lasts_s=3, of_broker=coordinate → is not a role
bandwidth of member 1, lasts_s=3 → bandwidth on member 1 needs a bandwidth_kb_per_s of 1 to 1500
bandwidth of member 1, lasts_s=3, bandwidth_kb_per_s=1501 → could not be measured; it is 1501
latency of member 1, lasts_s=3, latency_ms=19 → because 19 ms could not be measured
freeze-consumer of member 1, lasts_s=-3 → lasts_s=-3: none can be negative
isolate of member 1, lasts_s=9, latency_ms=50 → isolate of member 1 takes no latency_ms
freeze-consumer of member 1, lasts_s=9, how=sideways → has no variant 'sideways': leave how=
kill-consumer of member 1, more_partitions=2 → takes no more_partitions: leave more_partitions out
isolate of coordinator, lasts_s=9 → cannot hit 'coordinator': use member <n>, any member
nothing, R01 → no fault here causes a silence longer than session.timeout.ms, which session/silent-
start-consumer of new member, R07 → no fault here causes a stall longer than max.poll
delete-offsets of any broker → only the coordinator has the positions
delete-records of coordinator → say whose records, as in 'leader of t-0'
"""


def twice(kind: str, then: str, target: str) -> Experiment:
    first = Fault(kind=kind, target=target, at_s=3, lasts_s=8)
    return declared(faults=(first, replace(first, kind=then, at_s=9)))


def breaks_otherwise(name: str, *faults: Fault) -> Experiment:
    return replace(registry.load(name), faults=faults)


ADDED = Fault(kind="add-partitions", target="topic", more_partitions=1)


@pytest.mark.parametrize(
    ("experiment", "says"),
    [
        *(
            (described(line), says)
            for line, _, says in (case.partition(" → ") for case in REFUSED.strip().splitlines())
        ),
        (declared(rules=()), "without rules cannot fail"),
        (
            declared(group=Group(client="java", differing={2: {"client_version": "2.4.1"}})),
            "the Java client of Kafka 2.4.1 is too old",
        ),
        (
            declared(group=Group(differing={4: {"process_us": 5_000}})),
            "differing names member 4, and there are members 1 to 3",
        ),
        (
            declared(group=Group(settings={"session.timeout.ms": "9000"})),
            "'session.timeout.ms', which has a field of its own: use session_timeout_ms",
        ),
        (
            declared(
                cluster=Cluster(settings={"group.coordinator.rebalance.protocols": "classic"}),
                group=Group(protocol="consumer"),
            ),
            "offer 'consumer' there, or leave the setting out",
        ),
        (breaks_otherwise("add-partitions", ADDED, ADDED), "comes 2 times: add all of them"),
        (
            breaks_otherwise(
                "consumer-freeze", Fault(kind="freeze-consumer", target="member 1", lasts_s=6)
            ),
            "for 6 s ends before session_timeout_ms of 6 s, so session/silent-member-is-evicted, ",
        ),
        (
            breaks_otherwise(
                "member-isolated", Fault(kind="isolate", target="member 1", lasts_s=5)
            ),
            "ends before session_timeout_ms of 6 s, so session/silent-member-is-evicted",
        ),
        (
            twice("freeze-consumer", "freeze-consumer", "member 1"),
            "freeze-consumer of member 1 at 9 s may begin before the one at 3 s has ended",
        ),
        (
            twice("pause-broker", "kill-broker", "broker 2"),
            "kill-broker of broker 2 at 9 s may begin before pause-broker at 3 s has ended, at 13",
        ),
    ],
)
def test_what_cannot_run_is_refused_before_anything_starts(
    experiment: Experiment, says: str
) -> None:
    with pytest.raises(BadInput, match=says):
        registry.checked(experiment)


@pytest.mark.parametrize("backend", ["docker", "compose"])
def test_kafka_that_logs_otherwise_is_refused_in_containers(backend: str) -> None:
    def with_kafka(version: str, backend: str) -> Experiment:
        changed = {"cluster.kafka_version": version, "cluster.backend": backend}
        return registry.checked(registry.with_settings(registry.load("baseline"), changed))

    with pytest.raises(BadInput, match=r"choose --kafka 4\.0\.0 or newer, or --backend embedded$"):
        with_kafka("3.9.2", backend)
    assert backend == with_kafka("4.2.1", backend).cluster.backend
    only = replace(registry.load("split-brain-attempt"), cluster=Cluster(backend="docker"))
    with pytest.raises(BadInput, match=r"choose --kafka 4\.0\.0 or newer$"):
        registry.checked(registry.with_settings(only, {"cluster.kafka_version": "3.9.2"}))
    assert "3.9.2" == with_kafka("3.9.2", "embedded").cluster.kafka_version


def test_a_member_that_is_started_later_may_differ_and_stands_in_for_one_that_ends() -> None:
    experiment = Experiment(
        claim="x.",
        rules=(RULE,),
        group=Group(members=1, differing={2: {"process_us": 5_000}}),
        faults=(
            Fault(kind="start-consumer", target="new member"),
            Fault(kind="kill-consumer", target="member 1"),
        ),
    )
    assert experiment == registry.checked(experiment)


def _expected(name: str, client: str, protocol: str, **group: Any) -> dict[str, Expect]:
    turned = registry.variant(registry.load(name), client, protocol)
    turned = replace(turned, group=replace(turned.group, **group))
    return {each.rule: each for each in registry.resolved(turned).rules}


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        ({"by": "{kill-broker}"}, "names whom kill-broker hits, and the experiment has freeze-co"),
        ({"by": "{}"}, "names whom nothing hits"),
        (
            {"rule": "X42", "up_to": 5},
            "-no-member measures nothing that up_to=5 could limit: use by=",
        ),
    ],
)
def test_limits_that_no_violation_can_keep_are_refused(limits: dict[str, Any], says: str) -> None:
    experiment = registry.load("consumer-freeze")
    expected = {"rule": "R21-delivery", "verdict": Verdict.VIOLATED, "because": "it is so"}
    with pytest.raises(BadInput, match=says):
        registry.checked(replace(experiment, rules=(Expect(**{**expected, **limits}),)))


@pytest.mark.parametrize("commit", ["sync", "interval"])
def test_a_defect_that_any_run_may_show_is_as_expected(commit: str) -> None:
    expected = _expected("rolling-deploy", "librdkafka", "cooperative", commit=commit)["X01-kept"]

    assert expected.verdict is Verdict.VIOLATED
    assert expected.sometimes
    assert expected.if_seen
    assert "behind its own JoinGroup" in expected.because


@pytest.mark.parametrize(
    ("client", "protocol", "commit"),
    [
        ("java", "cooperative", "sync"),
        ("librdkafka", "eager", "sync"),
        ("librdkafka", "consumer", "sync"),
        ("librdkafka", "cooperative", "async"),
    ],
)
def test_who_does_not_have_the_defect_is_held_to_the_rule(
    client: str, protocol: str, commit: str
) -> None:
    assert "X01-kept" not in _expected("rolling-deploy", client, protocol, commit=commit)


def test_an_experiment_says_itself_what_it_expects_in_the_place_of_a_known_defect() -> None:
    holding = _expected("cooperative-join", "librdkafka", "cooperative")["X01-kept"]
    violated = _expected("join-blocked", "librdkafka", "cooperative")["X01-kept"]

    assert holding.verdict is Verdict.HOLDS
    assert violated.verdict is Verdict.VIOLATED
    assert not violated.sometimes


def test_the_experiment_that_is_printed_for_newcomers_can_be_played() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    module: dict[str, Any] = {}
    exec(text.split("```python\n")[1].split("```")[0], module)

    assert module["experiment"] == registry.resolved(registry.checked(module["experiment"]))


def test_the_table_of_experiments_has_each_with_its_claim() -> None:
    table = (ROOT / "docs" / "experiments.md").read_text()

    for name in registry.names():
        assert f"| `{name}` |" in table
        assert registry.load(name).claim in table


def test_the_table_of_faults_has_each_with_its_fields_and_ways() -> None:
    page = (ROOT / "docs" / "experiments.md").read_text()
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| [^|]+ \| ([^|]+\|[^|]*)\|$", page, re.MULTILINE))

    for name, kind in KINDS.items():
        fields = [*kind.takes, *(["lasts_s"] if kind.heals else [])]
        for name_ in (*fields, *filter(None, kind.ways)):
            assert f"`{name_}`" in rows[name], f"{name} has {name_}"


def test_what_is_left_to_a_library_s_default_is_not_declared_twice() -> None:
    group = Group(settings={"session.timeout.ms": UNSET})
    check_together(Experiment(claim="x.", rules=(RULE,), group=group))


def test_a_broker_setting_that_is_unset_is_left_to_kafka() -> None:
    delay = "group.initial.rebalance.delay.ms"
    assert delay in broker_settings(Cluster())
    assert delay not in broker_settings(Cluster(settings={delay: UNSET}))


def test_a_rule_may_be_given_by_its_name() -> None:
    given = ["session/silent-member-is-evicted", "R02", "R01"]

    assert ["R01", "R02"] == registry.rules_named(given)
    good = registry.load("consumer-crash")
    named = replace(good, rules=(Expect(rule=given[0]),))
    assert ["R01"] == [each.rule for each in registry.checked(named).rules]
