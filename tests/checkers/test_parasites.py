"""No parasite events: runs of CAMCAST pass, and each way in which a run could break the rule is caught."""

from typing import Any

import pyarrow as pa
import pytest

from treecast.checkers import Verdict, check
from treecast.core import JournalError, Topic
from treecast.journal import (
    HIERARCHY_KEY,
    hierarchy_of,
    journal_from_rows,
    mark_hierarchy,
    mark_promises,
    mark_quiet,
    promises_of,
)
from treecast.protocols.camcast.settings import CamcastSettings
from treecast.sim import Scenario, simulate
from treecast.sim.scenario import Action, Once, TopicSetup, UniformNetwork

SPORT, SOCCER, ITALY, FRANCE = "sport", "sport.soccer", "sport.soccer.italy", "sport.soccer.france"
PARENTS = {SPORT: [], SOCCER: [SPORT], ITALY: [SOCCER], FRANCE: [SOCCER]}

FAN, FRENCH, BOTH, OUTSIDER, LEFT, PUBLISHER = 1, 2, 3, 4, 5, 6


def row(time_us: int, node: int, kind: str, topic: str = ITALY, **more: Any) -> dict[str, Any]:
    found = {"time_us": time_us, "node": node, "kind": kind, "topic": topic, **more}
    if kind in {"publish", "deliver", "send", "receive"}:
        found = {"source": PUBLISHER, "sequence": 1, "barrier_size": 0, **found}
    if kind in {"send", "receive"}:
        found = {"message": "PUB", "peer": 0, **found}
    return found


def rows() -> list[dict[str, Any]]:
    """An event of ITALY: by a registered publisher to a fan, up to one of SOCCER; node 5 leaves meanwhile."""
    return [
        row(0, FAN, "subscribe"),
        row(0, FRENCH, "subscribe", FRANCE),
        row(0, BOTH, "subscribe", SOCCER),
        row(0, LEFT, "subscribe"),
        row(0, PUBLISHER, "register"),
        row(10, PUBLISHER, "publish"),
        row(10, PUBLISHER, "send", peer=FAN),
        row(10, PUBLISHER, "send", peer=LEFT),
        row(15, LEFT, "unsubscribe"),
        row(20, FAN, "receive", peer=PUBLISHER),
        row(20, FAN, "deliver"),
        row(20, FAN, "send", peer=BOTH),
        row(20, LEFT, "receive", peer=PUBLISHER),
        row(30, BOTH, "receive", peer=FAN),
        row(30, BOTH, "deliver"),
    ]


def journal(lines: list[dict[str, Any]], *promises: str) -> pa.Table:
    table = journal_from_rows(sorted(lines, key=lambda each: each["time_us"]))
    return mark_hierarchy(mark_promises(table, promises or ("no parasites",)), PARENTS)


def judged(lines: list[dict[str, Any]]) -> Verdict:
    return check(journal(lines)).verdict("no parasites")


def test_members_may_handle_what_is_theirs_and_a_straggler_is_no_fault() -> None:
    report = check(journal(rows()))
    assert report.ok
    assert report.verdict("no parasites").checked == 6
    assert report.figures["stragglers"] == 1


BREACHES = {
    "an outsider receives": [row(25, OUTSIDER, "receive", peer=FAN)],
    "a sister community receives": [row(25, FRENCH, "receive", peer=BOTH)],
    "by any kind of message": [row(25, FRENCH, "receive", peer=BOTH, message="REPAIR")],
    "under another topic's name": [row(25, FRENCH, "receive", FRANCE, peer=BOTH)],
    "who has left forwards": [row(26, LEFT, "send", peer=FAN)],
    "an outsider forwards": [row(25, OUTSIDER, "send", peer=FAN)],
    "who never had it sends it": [row(0, 7, "subscribe"), row(25, 7, "send", peer=FAN)],
    "who comes back sends what he had": [row(26, LEFT, "subscribe"), row(27, LEFT, "send", peer=FAN)],
    "who starts again sends what he had": [
        {"time_us": 40, "node": BOTH, "kind": "crash"},
        {"time_us": 41, "node": BOTH, "kind": "recover"},
        row(42, BOTH, "subscribe", SOCCER),
        row(43, BOTH, "send", peer=FAN),
    ],
    "a publisher who is registered no more": [row(50, PUBLISHER, "unregister"), row(51, PUBLISHER, "send")],
}


@pytest.mark.parametrize("extra", BREACHES.values(), ids=BREACHES)
def test_a_parasite_is_caught(extra: list[dict[str, Any]]) -> None:
    verdict = judged(rows() + extra)
    assert verdict.count == 1, [each.text for each in verdict.violations]
    assert verdict.violations[0].nodes == (extra[-1]["node"],)
    assert ITALY in verdict.violations[0].text


def test_a_second_role_keeps_a_node_in_the_community() -> None:
    stays = [row(21, FAN, "register"), row(22, FAN, "unsubscribe"), row(25, FAN, "send", peer=PUBLISHER)]
    assert judged(rows() + stays).ok


def test_who_still_belongs_from_above_may_send_what_he_has() -> None:
    above = [row(16, FAN, "subscribe", SPORT), row(22, FAN, "unsubscribe"), row(25, FAN, "send", peer=BOTH)]
    assert judged(rows() + above).ok


def test_without_the_promise_there_is_no_verdict() -> None:
    names = [verdict.name for verdict in check(journal(rows(), "completeness")).verdicts]
    assert "no parasites" not in names


def test_deliveries_are_judged_by_the_hierarchy() -> None:
    wrong = [row(26, FRENCH, "deliver"), row(27, LEFT, "deliver")]
    assert check(journal(rows() + wrong)).verdict("subscribers only").count == 2


@pytest.mark.parametrize("missed", [FAN, BOTH])
def test_events_are_owed_to_subscribers_of_all_topics_above(missed: int) -> None:
    joins = [row(1, FAN, "joined"), row(1, BOTH, "joined", SOCCER), row(1, FRENCH, "joined", FRANCE)]
    lines = [each for each in rows() if (each["node"], each["kind"]) != (missed, "deliver")] + joins
    table = mark_quiet(journal(lines, "completeness", "no parasites"), True)
    report = check(table)
    for name in ("completeness", "agreement"):
        assert [each.nodes for each in report.verdict(name).violations] == [(missed,)]
    assert check(mark_quiet(journal(rows() + joins, "completeness"), True)).ok
    assert report.verdict("causal order").skipped is not None


def test_the_hierarchy_of_a_journal_is_read_back_or_refused() -> None:
    assert hierarchy_of(journal(rows())) == PARENTS
    assert promises_of(journal(rows())) == ("no parasites",)
    for note in (b"[]", b"{", b'{"a": "b"}', b"\xff"):
        broken = journal(rows())
        broken = broken.replace_schema_metadata({**broken.schema.metadata, HIERARCHY_KEY: note})
        with pytest.raises(JournalError, match=r"treecast.hierarchy.* a JSON object"):
            check(broken)


def test_a_run_with_one_row_moved_to_an_outsider_is_caught() -> None:
    """Every reception of a real run, handed to somebody who has no part in it."""
    result = simulate(
        Scenario(
            name="parasites",
            protocol="camcast",
            nodes=24,
            settle_ms=20_000.0,
            network=UniformNetwork(),
            settings=CamcastSettings(),
            topics=(
                TopicSetup(name=Topic("a"), subscribers=4, apart=True),
                TopicSetup(name=Topic("a.d"), subscribers=6, apart=True),
                TopicSetup(name=Topic("a.e"), subscribers=8, apart=True),
            ),
            workloads=(Once(topic=Topic("a.d"), publishers=2),),
            actions=(Action(at_ms=5, node=0, do="subscribe", topic=Topic("b")),),
        )
    )
    assert result.journal is not None
    assert check(result.journal).ok
    lines = result.journal.to_pylist()
    outsiders = {each["node"] for each in lines if each["kind"] == "subscribe" and each["topic"] == "a.e"}
    outsider = min(outsiders - {0})
    carrying = [n for n, each in enumerate(lines) if each["kind"] == "receive" and each["barrier_size"] == 0]
    assert len(carrying) > 20
    for number in carrying[::5]:
        broken = [{**each, "node": outsider} if n == number else each for n, each in enumerate(lines)]
        for each in broken:
            each.pop("run", None)
        table = journal_from_rows(broken).replace_schema_metadata(result.journal.schema.metadata)
        verdict = check(table).verdict("no parasites")
        assert not verdict.ok
        assert verdict.violations[0].nodes[0] in {outsider, lines[number]["node"]}
