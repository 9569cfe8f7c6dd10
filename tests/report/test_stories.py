"""A hundred logs of other people: whatever the version and what stands around the lines, the story
comes out."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Final

import pytest

from harness.history.foreign import events
from harness.report.incident.explain_view import view_of
from tests.coats import COATS
from tests.report.stories import KINDS, RECENT, STORIES, EpochStory, Story

LOGS: Final = 160
GROUPS: Final = ("orders", "Order Service", "team.a_orders-v2", "group {blue}", "a,b", "g[1]")


@pytest.mark.parametrize("seed", range(LOGS))
def test_the_story_comes_out(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    tell, coat = random.choice(STORIES), random.choice(sorted(COATS))
    story: Story | EpochStory = Story(random.choice(RECENT), random.choice(GROUPS), random)
    if seed % 2:
        kind = random.choice(sorted(KINDS))
        version = random.choice([each for each in RECENT if each >= KINDS[kind]])
        story = EpochStory(version, random.choice(GROUPS), random, kind)
    expected = tell(story)
    log = tmp_path / "a.log"
    log.write_text(COATS[coat](story.lines()), encoding="utf-8")

    shown = view_of(events.read([log]))

    what = f"{tell.__name__} of {story.version} as {coat}"
    [one] = shown.groups
    assert story.group == one.group.name, what
    assert [story.rebalances, story.evictions] == [
        len(one.group.rebalances),
        len(one.group.removals),
    ], what
    found = {each.cause.name: each.count for each in one.findings}
    assert expected == {name: found.get(name) for name in expected}, what
    assert one.findings[0].cause.name in {*expected, "joined"}, what
    if "joined" == one.findings[0].cause.name:  # no client said why: who joined was as many
        assert not {"left", "rejoined", "metadata"}.isdisjoint(expected), what
