"""The set of a night: nothing that can be shown is left out, and the same set every night."""

from dataclasses import replace
from functools import partial
from itertools import product

import pytest

from harness.base.errors import BadInput
from harness.catalogue import cover, registry
from harness.catalogue.cover import Goal
from harness.experiment import (
    CLIENTS,
    PROTOCOLS,
    Expect,
    Experiment,
    Group,
    Verdict,
    label,
)
from harness.rules import RULES
from harness.run.faults import needs_app


@pytest.fixture(scope="module")
def night() -> cover.Cover:
    return cover.plan()


def candidate_of(
    name: str, experiment: Experiment, client: str, protocol: str
) -> cover.Candidate | None:
    found = cover.candidates({name: experiment}, [client], [protocol])
    return found[0] if found else None


def shown(plan: cover.Cover) -> set[Goal]:
    return cover.goals(plan.runs)


def test_nothing_that_an_experiment_can_show_is_left_out(night: cover.Cover) -> None:
    """Counted anew, straight from the declarations."""
    coverable: set[Goal] = set()
    for name, client, protocol in product(registry.names(), CLIENTS, PROTOCOLS):
        experiment = registry.load(name)
        candidate = candidate_of(name, experiment, client, protocol)
        if candidate is not None and not experiment.long:
            coverable |= candidate.shows

    assert coverable == shown(night)


def test_every_goal_is_shown_or_listed_as_missing(night: cover.Cover) -> None:
    missing = {*night.uncovered, *night.elsewhere}
    assert cover.goals_of_rules() == shown(night) | missing
    assert not shown(night) & missing
    long = cover.plan(long=True)

    assert cover.goals_of_rules() - shown(night) - shown(long) == set(night.uncovered)
    assert night.uncovered == long.uncovered
    assert all(run.experiment.long for run in long.runs)


def test_an_experiment_is_played_as_declared_unless_a_variant_that_is_needed_is_played(
    night: cover.Cover,
) -> None:
    labels = [run.label for run in night.runs]
    played = {run.name for run in night.runs}
    declared = {name: registry.load(name) for name in registry.names()}

    assert len(labels) == len(set(labels))
    assert played == {
        name
        for name, experiment in declared.items()
        if not experiment.long and "embedded" in experiment.backends and not needs_app(experiment)
    }
    for name in played:
        group = declared[name].group
        if label(name, group.client, group.protocol) not in labels:
            left_out = candidate_of(name, declared[name], group.client, group.protocol)
            assert left_out is not None
            assert left_out.shows <= shown(night)


def test_every_further_run_is_needed(night: cover.Cover) -> None:
    """One run less, and a goal is missing, or an experiment."""
    for spare in night.runs:
        others = [run for run in night.runs if run is not spare]
        alone = spare.name not in {candidate.name for candidate in others}
        assert alone or shown(night) - cover.goals(others), spare.label


def test_what_each_run_adds_adds_up_and_is_the_same_every_time(night: cover.Cover) -> None:
    added = [goal for adds in night.adds for goal in adds]

    assert len(added) == len(set(added))
    assert set(added) == shown(night)
    assert night == cover.plan()


def test_one_client_alone_leaves_out_the_other() -> None:
    java = cover.plan(client="java")

    assert {"java"} == {run.experiment.group.client for run in java.runs}
    assert {"java", "any"} >= {goal.client for goal in (*java.uncovered, *java.elsewhere)}
    assert {"java", "any"} == {goal.client for goal in shown(java)}


def test_what_brokers_do_is_shown_by_one_client_for_all() -> None:
    found = [(goal.rule, goal.client, goal.protocol) for goal in cover.goals_of_rules()]

    assert {("X28", "any", "classic"), ("X28", "any", "consumer"), ("R13", "any", "classic")} == {
        each for each in found if each[0] in ("X28", "R13")
    }
    assert 6 == sum(rule == "R07" for rule, _, _ in found)


def test_shares_are_the_whole_together_and_as_long_as_each_other(night: cover.Cover) -> None:
    shares = [cover.plan(share=(number, 3)) for number in (1, 2, 3)]
    labels = [run.label for share in shares for run in share.runs]

    assert sorted(labels) == sorted(run.label for run in night.runs)
    lengths = [share.estimate_s for share in shares]
    assert max(lengths) - min(lengths) < 60
    for share in shares:
        assert cover.goals_of_rules() == shown(share) | {*share.uncovered, *share.elsewhere}
        assert night.uncovered == share.uncovered


def test_only_plays_what_is_named_in_that_order() -> None:
    named = ["consumer-join", "baseline:librdkafka/cooperative"]
    plan = cover.plan(only=named)

    assert ["consumer-join:librdkafka/eager", named[1]] == [run.label for run in plan.runs]
    with pytest.raises(BadInput, match="client 'go' is not offered"):
        cover.plan(only=["baseline:go/eager"])


def test_only_is_for_the_client_and_the_protocol_that_are_asked_for() -> None:
    named = ["consumer-crash", "consumer-join:java", "consumer-crash:java/cooperative"]
    plan = cover.plan(only=named, client="java", protocol="cooperative")

    assert ["consumer-crash:java/cooperative", "consumer-join:java/cooperative"] == [
        run.label for run in plan.runs
    ]
    with pytest.raises(BadInput, match=r"^--only consumer-crash:java/eager is not for cooperative"):
        cover.plan(only=["consumer-crash:java/eager"], protocol="cooperative")


def test_what_is_named_is_shared_too() -> None:
    named = ["consumer-join", "baseline:librdkafka/cooperative"]
    shares = [cover.plan(only=named, share=(number, 2)) for number in (1, 2)]

    assert [1, 1] == [len(share.runs) for share in shares]
    with pytest.raises(BadInput, match="there is no share 5 of 2"):
        cover.plan(only=named, share=(5, 2))


def test_a_version_of_the_java_client_is_for_java_whatever_is_declared() -> None:
    """Most experiments declare librdkafka, which has no such version."""
    turn = partial(registry.variant, settings={"group.client_version": "4.2.1"})
    java, both = cover.plan(client="java", turn=turn), cover.plan(turn=turn)

    names = {run.name for run in cover.plan(client="java").runs}
    assert names == {run.name for run in java.runs}
    assert {"4.2.1"} == {run.experiment.group.client_version for run in java.runs}
    assert {("java", "4.2.1"), ("librdkafka", "")} == {
        (run.experiment.group.client, run.experiment.group.client_version) for run in both.runs
    }
    assert () == java.refused == both.refused


def turn_session_timeout(value_ms: int) -> cover.Turn:
    return partial(registry.variant, settings={"session_timeout_ms": str(value_ms)})


def test_a_setting_that_makes_nonsense_of_everything_is_refused() -> None:
    with pytest.raises(BadInput, match=r"^[a-z0-9-]+: session_timeout_ms of 5000 is"):
        cover.plan(turn=turn_session_timeout(5_000))


def test_what_a_setting_makes_nonsense_of_is_left_out_and_said(night: cover.Cover) -> None:
    """Of a setting that is to be qualified, all that can still show something is played."""
    plan = cover.plan(turn=turn_session_timeout(10_000))

    names = {run.name for run in plan.runs}
    refused = {sentence.partition(":")[0] for sentence in plan.refused}
    assert {"consumer-crash", "consumer-join", "coordinator-kill"} <= names
    assert "auto-commit-crash" in refused
    assert {"java"} == {  # librdkafka does not take a limit between polls below the session
        run.experiment.group.client for run in plan.runs if run.name == "processing-stall"
    }
    assert names | refused == {run.name for run in night.runs}
    assert night.uncovered == plan.uncovered  # experiments that are left out would show the rest
    assert "R26-processed" in {goal.rule for goal in plan.elsewhere}
    assert not names & refused
    assert {10_000} == {run.experiment.group.session_timeout_ms for run in plan.runs}
    assert f"skipped, since they make no sense with these settings: {len(refused)}" in cover.render(
        plan
    )
    assert () == night.refused


def test_what_is_named_is_refused_rather_than_left_out() -> None:
    turn = turn_session_timeout(10_000)

    assert 1 == len(cover.plan(only=["consumer-crash"], turn=turn).runs)
    with pytest.raises(BadInput, match=r"^processing-stall: max_poll_interval_ms of 7000 is below"):
        cover.plan(only=["consumer-crash", "processing-stall"], turn=turn)


def declared(*rules: str, **more: object) -> Experiment:
    experiment = Experiment(claim="x.", rules=tuple(Expect(rule=rule) for rule in rules))
    return replace(experiment, **more)  # type: ignore[arg-type]


def test_a_sabotaged_consumer_shows_only_what_no_honest_one_can() -> None:
    found = cover.candidates(
        {
            "honest": declared("R21"),
            "saboteur": declared("R21", "R12", group=Group(sabotage="never-commit")),
        },
        ["librdkafka"],
        ["eager"],
    )

    assert {Goal("R12", "librdkafka", "eager")} == found[1].shows


def test_a_rule_expected_to_be_unknown_is_not_shown() -> None:
    expect = Expect(rule="R12", verdict=Verdict.UNKNOWN, because="nothing happens")
    candidate = candidate_of("x", replace(declared("R21"), rules=(expect,)), "librdkafka", "eager")

    assert candidate is not None
    assert "R12" not in {goal.rule for goal in candidate.shows}
    assert {rule.id for rule in RULES.values() if rule.evidence} == {
        goal.rule for goal in candidate.shows
    }


def test_an_experiment_is_played_for_its_own_clients_and_protocols_only() -> None:
    experiment = declared("R21", clients=("librdkafka",), protocols=("eager",))

    assert candidate_of("x", experiment, "librdkafka", "eager") is not None
    assert candidate_of("x", experiment, "java", "eager") is None
    assert candidate_of("x", experiment, "librdkafka", "cooperative") is None


def test_the_list_says_what_each_run_adds_and_what_is_left_out(night: cover.Cover) -> None:
    text = cover.render(night)

    assert night.estimate_s <= cover.NIGHT_MIN * 60

    assert night.runs[0].label in text.splitlines()[0]
    assert f"{len(night.runs)} runs, about" in text
    assert "covered by no experiment:" in text
