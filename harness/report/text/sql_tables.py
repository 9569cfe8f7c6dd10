"""What each table of a run has, with one question that it answers, for `sql`."""

import re
from typing import Final

_TABLES: Final = """
verdicts: one row per rule: what it says of the run
    which rules are not as expected?
    SELECT rule, verdict, expected, reason FROM verdicts WHERE verdict <> expected
judgements: one row per thing that a rule examined
    which things violate which rule?
    SELECT rule, subject, measured, bound_low, bound_high, why FROM judgements WHERE NOT ok
other_rules: what rules say that the experiment does not declare
    how many of them hold?
    SELECT verdict, count(*) AS rules FROM other_rules GROUP BY verdict
answers: how many answers to members there were, and how many of them rules could judge
    how many of the refusals could be judged?
    SELECT judged, answered FROM answers WHERE what = 'refusals'
rebalances: one row per generation of a group (KIP-848: per epoch)
    what set off each rebalance, and how long did it take?
    SELECT started_at, generation, trigger, trigger_member, duration_ms, reason FROM rebalances
        ORDER BY started_at
stops: how long no member processed a partition, and where the time went
    which partitions stopped for longest?
    SELECT topic, partition, cause, subject, ms, detection_ms, join_ms, sync_ms FROM stops WHERE
        stopped ORDER BY ms DESC LIMIT 10
ownership: who held which partition from when to when
    who held partition 0?
    SELECT from_at, to_at, member, ended_by FROM ownership WHERE partition = 0 ORDER BY 1
redeliveries: records that were delivered again, and why
    how many came again, by reason?
    SELECT why, sum(count) AS records FROM redeliveries GROUP BY why ORDER BY 2 DESC
evictions: members whose session ran out
    how long had each been silent?
    SELECT member, evicted_at, silence_ms, session_timeout_ms FROM evictions
heartbeats: heartbeats as the coordinator had them
    at which interval does each member send them?
    SELECT member, count(*) AS heartbeats, median(gap_ms) AS median_ms, max(gap_ms) AS max_ms FROM
        heartbeats WHERE steady GROUP BY member ORDER BY member
commits_judged: commits as the coordinator had them, with the generation at that moment
    which commits were refused?
    SELECT "at", member, topic, partition, committed, error_code, group_generation FROM
        commits_judged WHERE error_code <> 0 ORDER BY 1
reads: what a program read, by what it showed or fetched
    how many records did each process read?
    SELECT member, sum(count) AS records FROM reads GROUP BY member ORDER BY member
members: consumers and the producer: settings, start and end
    which client is each member, and how did it end?
    SELECT member, client, client_version, protocol, started_at, ended_at, "end" FROM members
client_events: what members noticed: callbacks, errors, stalls
    what did each member notice of its group?
    SELECT event_at, member, event, generation, detail FROM client_events ORDER BY event_at
deliveries: records as members got them, by poll
    how many records did each member get?
    SELECT member, count(*) AS polls, sum(count) AS records FROM deliveries GROUP BY member
commits: commits as members asked for them
    how long did the answers take?
    SELECT member, how, count(*) AS commits, median(answered_at - asked_at) AS median FROM commits
        GROUP BY ALL
sends: records as the producer sent them
    what became of them?
    SELECT outcome, sum(count) AS records FROM sends GROUP BY outcome
outputs: of a group with transactions: what it wrote
    did anything come out twice?
    SELECT isolation, copies, count(*) AS ranges FROM outputs GROUP BY ALL
requests: requests of the group protocol, from the brokers' own logs
    which requests were answered with which error?
    SELECT api, error_code, count(*) AS requests FROM requests GROUP BY ALL ORDER BY 3 DESC
fetches: fetches of a program's processes, from the brokers' own logs
    how many did each process send to each broker?
    SELECT member, broker, count(*) AS fetches FROM fetches GROUP BY ALL ORDER BY ALL
effects: records that a program showed as processed
    how many did each process show?
    SELECT member, shown_by, sum(count) AS records FROM effects GROUP BY ALL ORDER BY ALL
coordinator_events: what coordinators logged of the group
    what happened, in their own words?
    SELECT "at", broker, event, text FROM coordinator_events ORDER BY 1
faults: each fault by its phases, with the proof that it took effect
    what was broken when?
    SELECT "at", fault, resolved, phase, evidence FROM faults ORDER BY 1
topology: what an observer saw of brokers, partitions and the group
    who was the leader of partition 0?
    SELECT "at", leader, isr FROM topology WHERE what = 'partition' AND partition = 0 ORDER BY 1
calls: what scripted members asked, and the answers
    which answers did each step get?
    SELECT step, api, error_code, count(*) AS calls FROM calls GROUP BY ALL ORDER BY ALL
journals: whether each journal of the run is whole
    which is not, or does not say how it ended?
    SELECT journal, role, frames, torn, gaps, ending FROM journals WHERE torn OR gaps > 0 OR
        ending IS NULL
logs: whether each log of each broker is whole
    which lines could not be read?
    SELECT broker, log, lines, unread, example FROM logs WHERE unread > 0
host: how late this machine was, ten times a second
    when was it late by more than 50 ms?
    SELECT "at", late_ms FROM host WHERE late_ms > 50 ORDER BY 1
waits: which processes waited for a processor for more than 50 ms within a second
    who waited longest?
    SELECT process, max(waited_ms) AS longest_ms FROM waits GROUP BY process ORDER BY 2 DESC
"""


def _read(text: str) -> dict[str, tuple[str, str, str]]:
    """Of each table: it in words, a question about a run, and the query that answers it."""
    lines = re.sub(r"\n {8}", " ", text).strip().splitlines()
    heads = (line.split(": ", 1) for line in lines[::3])
    return {
        name: (about, question.strip(), query.strip())
        for (name, about), question, query in zip(heads, lines[1::3], lines[2::3], strict=True)
    }


EXAMPLES: Final = _read(_TABLES)
