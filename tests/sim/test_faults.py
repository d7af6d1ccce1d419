"""Loss, duplication, partitions and slow nodes: what befalls which message, and what is counted."""

from collections.abc import Iterator
from typing import Any

import pytest
from flood import FloodSettings, flood_registered

from treecast.checkers import check
from treecast.core import ScenarioError, Topic
from treecast.journal import healed_at
from treecast.sim import Result, Scenario, simulate
from treecast.sim.scenario import (
    Action,
    Duplication,
    Fault,
    Loss,
    Once,
    PacketNetwork,
    Partition,
    Slow,
    TopicSetup,
)

TOPIC = Topic("t")


@pytest.fixture(autouse=True)
def flood() -> Iterator[None]:
    with flood_registered():
        yield


@pytest.fixture(params=["windowed", "event-order"])
def engine(request: pytest.FixtureRequest) -> Any:
    return request.param


def publish(at_ms: float, node: int) -> Action:
    return Action(at_ms=at_ms, node=node, do="publish", topic=TOPIC)


def run(engine: Any, *faults: Fault, actions: tuple[Action, ...], nodes: int = 4, **keys: Any) -> Result:
    """On a ring on which each node passes on to the next: 11 ms of flight, 1 ms of processing."""
    return simulate(
        Scenario(
            name="faults",
            protocol=keys.pop("protocol", "flood"),
            nodes=nodes,
            settings=keys.pop("settings", FloodSettings(chords=(1,))),
            network=PacketNetwork(propagation_us=10_000),
            topics=(TopicSetup(name=TOPIC),),
            actions=actions,
            faults=faults,
            **keys,
        ),
        engine=engine,
    )


def delivered(result: Result) -> dict[int, float]:
    assert result.journal is not None
    rows = result.journal.to_pylist()
    return {row["node"]: row["time_us"] / 1000 for row in rows if row["kind"] == "deliver"}


def test_a_lost_message_ends_the_way_and_is_counted(engine: Any) -> None:
    loss = Loss(share=1.0, window_ms=(10, 15), senders=(1,), receivers=(2,))
    result = run(engine, loss, actions=(publish(0, 0),))
    assert delivered(result) == {0: 0, 1: 12}
    assert result.faults[0].counts == {"messages_lost": 1}
    assert result.messages["WAVE"].sent == 2
    assert result.messages["WAVE"].received == 1


def test_a_share_of_the_messages_is_lost_and_no_other(engine: Any) -> None:
    loss = Loss(share=0.3, window_ms=(0, 10_000), senders=(0,))
    result = run(engine, loss, actions=tuple(publish(each, 0) for each in range(0, 2_000)))
    waves, thanks = result.messages["WAVE"], result.messages["THANKS"]
    lost = result.faults[0].counts["messages_lost"]
    sent_by_0 = 2_000 + waves.received // 4
    assert waves.sent - waves.received + thanks.sent - thanks.received == lost
    assert 0.27 < lost / sent_by_0 < 0.33


@pytest.mark.parametrize(("sent_ms", "arrives"), [(9.999, True), (10, False), (14.999, False), (15, True)])
def test_the_window_is_of_the_sending_and_leaves_out_its_end(
    engine: Any, sent_ms: float, arrives: bool
) -> None:
    loss = Loss(share=1.0, window_ms=(10, 15), senders=(0,), receivers=(1,))
    result = run(engine, loss, actions=(publish(12, 0), publish(sent_ms, 0)))
    assert result.faults[0].counts["messages_lost"] == 2 - arrives


def test_a_copy_comes_later_and_is_received_twice(engine: Any) -> None:
    copies = Duplication(share=1.0, window_ms=(0, 1), later_us_max=5_000)
    result = run(engine, copies, actions=(publish(0, 0),))
    assert delivered(result).keys() == {0, 1, 2, 3}
    assert delivered(result)[1] == 12, "the copy does not replace the message"
    assert result.faults[0].counts == {"copies_made": 1}
    waves, thanks = result.messages["WAVE"], result.messages["THANKS"]
    assert (waves.sent, waves.received, thanks.sent) == (4, 5, 5)
    assert result.journal is not None
    assert check(result.journal).ok, "what is received twice was sent, once"


@pytest.mark.parametrize(("blocked", "reached"), [("both", {0, 1}), ("out", {0, 1}), ("in", {0, 1, 2, 3})])
def test_a_partition_blocks_the_ways_that_it_says(engine: Any, blocked: Any, reached: set[int]) -> None:
    """The side is nodes 0 and 1; an event goes round the ring from 0, thanks go back."""
    partition = Partition(side=(0, 1), window_ms=(0, 1000), blocked=blocked)
    result = run(engine, partition, actions=(publish(0, 0),))
    assert delivered(result).keys() == reached
    blocked_thanks = {"both": 0, "out": 0, "in": 1}[blocked]  # of node 2 to 1, and the wave of 3 to 0
    waves_back = {"both": 0, "out": 0, "in": 1}[blocked]
    out = {"both": 1, "out": 1, "in": 0}[blocked]
    assert result.faults[0].counts == {"messages_blocked": out + blocked_thanks + waves_back}


def test_a_slow_node_takes_longer_while_it_is_slow(engine: Any) -> None:
    slow = Slow(nodes=(1,), longer_us=30_000, window_ms=(0, 20))
    result = run(engine, slow, actions=(publish(0, 0), publish(1, 0), publish(50, 0)))
    assert result.faults[0].counts == {"messages_delayed": 1}, "the second begins at 42 ms"
    assert result.journal is not None
    rows = result.journal.to_pylist()
    at_1 = [row["time_us"] / 1000 for row in rows if row["kind"] == "deliver" and row["node"] == 1]
    assert at_1 == [42, 43, 62]


def test_faults_follow_one_another_in_the_order_of_their_tables(engine: Any) -> None:
    window_ms = (0.0, 1.0)
    copies, loss = Duplication(share=1.0, window_ms=window_ms), Loss(share=1.0, window_ms=window_ms)
    result = run(engine, copies, loss, actions=(publish(0, 0),))
    assert [each.counts for each in result.faults] == [{"copies_made": 1}, {"messages_lost": 2}]
    with pytest.raises(ScenarioError, match=r"\[\[fault\]\] 2: the duplication never took effect: no copy"):
        run(engine, loss, copies, actions=(publish(0, 0),))


@pytest.mark.parametrize(
    "fault",
    [
        Loss(share=0.5, window_ms=(500, 600)),
        Partition(side=1, window_ms=(500, 600)),
        Slow(nodes=1, longer_us=1, window_ms=(500, 600)),
    ],
    ids=lambda fault: fault.kind,
)
def test_a_fault_that_did_nothing_is_refused(engine: Any, fault: Fault) -> None:
    with pytest.raises(ScenarioError, match=rf"\[\[fault\]\] 1: the {fault.kind} never took effect: no "):
        run(engine, fault, actions=(publish(0, 0),))


def test_the_journal_says_when_the_last_fault_was_over(engine: Any) -> None:
    faults = Loss(share=1.0, window_ms=(0, 15)), Slow(nodes="all", longer_us=1, window_ms=(0, 45))
    result = run(engine, *faults, actions=(publish(0, 0), publish(30, 2)))
    assert healed_at(result.journal) == 45_000


def test_the_time_to_settle_begins_when_the_last_fault_is_over(engine: Any) -> None:
    beat = FloodSettings(chords=(1,), beat_us=1_000)
    loss = Loss(share=1.0, window_ms=(0, 300))
    result = run(engine, loss, actions=(publish(7, 0),), settings=beat, settle_ms=50.0)
    assert (result.ending, result.simulated_ms) == ("settled", 350)


def test_a_machine_that_cannot_make_sense_of_a_copy_drops_it(engine: Any) -> None:
    """VCube-PS rests on channels that neither lose nor repeat."""
    copies = Duplication(share=1.0, window_ms=(0, 1000))
    result = run(engine, copies, actions=(publish(0, 0),), protocol="vcube-ps", settings=None)
    assert result.messages_refused > 0
    assert delivered(result).keys() == {0, 1, 2, 3}


def test_lost_messages_leave_a_protocol_that_does_not_expect_it_incomplete(engine: Any) -> None:
    loss = Loss(share=1.0, window_ms=(0, 10), senders=(0,), receivers=(1,))
    load = Once(topic=TOPIC, publishers=(0,), window_ms=(1, 1))
    result = run(engine, loss, actions=(), workloads=(load,), protocol="vcube-ps", settings=None)
    assert result.journal is not None
    report = check(result.journal)
    assert not report.verdict("completeness").ok
    assert report.verdict("causal order").ok
