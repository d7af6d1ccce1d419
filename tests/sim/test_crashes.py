"""Crashes and recoveries: what a node loses, what it keeps, and what is counted of it."""

from collections.abc import Iterator
from typing import Any, Literal

import pytest
from flood import LIFE, FloodSettings, flood_registered

from treecast.core import NodeId, ScenarioError, Topic
from treecast.journal import ended_quietly, healed_at, who_relays
from treecast.sim import Result, Scenario, simulate
from treecast.sim.scenario import Action, Deed, PacketNetwork, TopicSetup
from treecast.sim.scenario_keys import Selection

TOPIC = Topic("t")
LINE = FloodSettings(chords=(1,))
"""Each node passes on to the next only."""


@pytest.fixture(autouse=True)
def flood() -> Iterator[None]:
    with flood_registered():
        yield


@pytest.fixture(params=["windowed", "event-order"])
def engine(request: pytest.FixtureRequest) -> Any:
    return request.param


def act(at_ms: float, node: NodeId, do: Deed, sends: int | None = None) -> Action:
    topic = None if do in {"crash", "recover"} else TOPIC
    return Action(at_ms=at_ms, node=node, do=do, topic=topic, sends=sends)


def run(
    engine: Literal["windowed", "event-order"],
    *actions: Action,
    settings: FloodSettings = LINE,
    subscribers: Selection = "all",
    nodes: int = 8,
    processing_us: int = 1_000,
    transmission_us: int = 1_000,
    acks: Literal["free", "charged"] = "free",
    **keys: Any,
) -> Result:
    return simulate(
        Scenario(
            name="crashes",
            protocol="flood",
            nodes=nodes,
            settings=settings,
            network=PacketNetwork(
                processing_us=processing_us,
                transmission_us=transmission_us,
                propagation_us=10_000,
                acks=acks,
            ),
            topics=(TopicSetup(name=TOPIC, subscribers=subscribers),),
            actions=actions,
            **keys,
        ),
        engine=engine,
    )


def rows(result: Result, *kinds: str) -> list[tuple[float, NodeId, str]]:
    assert result.journal is not None
    return [
        (row["time_us"] / 1000, row["node"], row["kind"])
        for row in result.journal.to_pylist()
        if row["kind"] in kinds
    ]


def counts(result: Result, number: int = 1) -> dict[str, int]:
    return {name: count for name, count in result.faults[number - 1].counts.items() if count}


def test_a_crashed_node_hears_nothing_and_its_neighbour_neither(engine: Any) -> None:
    result = run(engine, act(5, 2, "crash"), act(10, 0, "publish"))
    assert [node for _, node, _ in rows(result, "deliver")] == [0, 1]
    assert rows(result, "crash") == [(5, 2, "crash")]
    assert counts(result) == {"nodes_crashed": 1, "messages_lost": 1}
    assert result.messages["WAVE"].sent == result.messages["WAVE"].received + 1


def test_a_message_in_the_processor_is_lost_and_a_processed_one_is_not(engine: Any) -> None:
    """It arrives at 11 ms and is handed on at 12; a crash of that instant comes after."""
    for crash_ms, delivered in ((10.999, False), (11, False), (11.999, False), (12, True)):
        result = run(engine, act(0, 0, "publish"), act(crash_ms, 1, "crash"))
        assert ((12, 1, "deliver") in rows(result, "deliver")) is delivered
        assert counts(result)["messages_lost"] == 1, "the wave, or the thanks of the next node"


def test_what_waits_in_the_outgoing_queue_of_a_planned_crash_never_leaves(engine: Any) -> None:
    """Waves to nodes 1, 2 and 5 begin to leave at 0, 1 and 2 ms."""
    for crash_ms, left in ((0.5, 1), (1, 1), (1.5, 2), (2.5, 3)):
        result = run(engine, act(0, 0, "publish"), act(crash_ms, 0, "crash"), settings=FloodSettings())
        assert counts(result).get("messages_never_left", 0) == 3 - left
        received = rows(result, "receive")
        assert {node for _, node, _ in received} >= {1}
        first = [time_ms for time_ms, node, _ in received if node in {1, 2, 5} and time_ms <= 14]
        assert len(first) == left


@pytest.mark.parametrize("sends", [0, 1, 2, 3])
def test_a_crash_in_mid_send_lets_the_first_messages_leave(engine: Any, sends: int) -> None:
    result = run(
        engine,
        act(0, 0, "crash", sends),
        act(5, 0, "publish"),
        act(9, 0, "publish"),
        settings=FloodSettings(),
    )
    waves = [row for row in result.journal.to_pylist() if row["kind"] == "send" and row["node"] == 0]  # type: ignore[union-attr]
    assert [row["peer"] for row in waves] == [1, 2, 5][:sends]
    assert rows(result, "crash") == [(5, 0, "crash")]
    assert result.events_published == 1
    assert result.inputs_skipped == {"publish": 1}
    assert counts(result).get("messages_never_left", 0) == (sends == 0)
    receivers = {node for time_ms, node, _ in rows(result, "receive") if time_ms < 5 + 16}
    assert receivers == set([1, 2, 5][:sends])


def test_a_new_life_knows_nothing_and_hears_what_was_on_its_way(engine: Any) -> None:
    result = run(
        engine,
        act(0, 0, "publish"),
        act(1, 1, "crash"),
        act(5, 1, "recover"),
        act(6, 1, "register"),
        act(40, 1, "publish"),
        act(50, 1, "subscribe"),
        act(60, 1, "publish"),
        act(70, 1, "unregister"),
    )
    assert rows(result, "crash", "recover", "register", "unregister") == [
        (1, 1, "crash"),
        (5, 1, "recover"),
        (6, 1, "register"),
        (70, 1, "unregister"),
    ]
    assert (12, 1, "receive") in rows(result, "receive")
    delivered_at_1 = [
        row
        for row in result.journal.to_pylist()
        if row["kind"] == "deliver" and row["node"] == 1  # type: ignore[union-attr]
    ]
    assert [(row["source"], row["sequence"]) for row in delivered_at_1] == [(1, LIFE + 2)]
    assert counts(result) == {"nodes_crashed": 1, "recoveries": 1}
    assert counts(result, 2) == {"recoveries": 1}


def test_arrivals_of_the_instant_of_a_recovery_come_before_it(engine: Any) -> None:
    for recover_ms, lost in ((10.999, 0), (11, 1)):
        result = run(engine, act(0, 0, "publish"), act(1, 1, "crash"), act(recover_ms, 1, "recover"))
        assert counts(result).get("messages_lost", 0) == lost


def test_timers_die_with_their_life(engine: Any) -> None:
    beat = FloodSettings(chords=(1,), beat_us=10_000)
    result = run(engine, act(25, 0, "crash"), act(101, 0, "recover"), settings=beat, until_ms=125.0)
    sent_ms = [time_ms for time_ms, node, _ in rows(result, "send") if node == 0]
    assert sent_ms == [10, 20, 111, 121]


def test_a_recovery_disarms_a_crash_in_mid_send(engine: Any) -> None:
    with pytest.raises(
        ScenarioError, match=r"\[\[action\]\] 1: the crash never took effect: no node crashed"
    ):
        run(engine, act(0, 0, "crash", 3), act(5, 0, "recover"), act(9, 0, "publish"))


def test_what_a_node_that_is_down_should_do_is_left_out_and_counted(engine: Any) -> None:
    result = run(
        engine, act(1, 0, "crash"), act(2, 0, "publish"), act(3, 0, "unsubscribe"), act(4, 0, "register")
    )
    assert result.inputs_skipped == {"publish": 1, "register": 1, "unsubscribe": 1}
    assert result.events_published == 0


def test_a_node_that_is_up_and_not_subscribed_is_an_error_as_ever(engine: Any) -> None:
    with pytest.raises(ScenarioError, match=r"\[\[action\]\] 3, at 4 ms: node 0 cannot publish"):
        run(engine, act(1, 0, "crash"), act(2, 0, "recover"), act(4, 0, "publish"))


def test_the_journal_says_when_all_was_healed_and_who_relays(engine: Any) -> None:
    result = run(engine, act(3, 1, "crash"), act(7, 1, "recover"), act(5, 2, "crash"))
    assert healed_at(result.journal) == 7_000
    assert who_relays(result.journal) == "anyone"
    assert ended_quietly(result.journal) is True
    assert result.ending == "quiet"
    assert healed_at(run(engine, act(1, 0, "publish")).journal) is None


def test_a_run_that_never_falls_silent_settles(engine: Any) -> None:
    beat = FloodSettings(chords=(1,), beat_us=1_000)
    result = run(engine, act(3, 1, "crash"), act(7, 0, "publish"), settings=beat, settle_ms=50.0)
    assert (result.ending, result.quiet, result.simulated_ms) == ("settled", True, 57)
    assert ended_quietly(result.journal) is True
    cut = run(engine, act(3, 1, "crash"), act(7, 0, "publish"), settings=beat, until_ms=57.0)
    assert (cut.ending, cut.quiet, cut.simulated_ms) == ("cut", False, 57)
    assert ended_quietly(cut.journal) is False


def test_a_recovery_of_a_node_that_was_up_is_refused(engine: Any) -> None:
    with pytest.raises(ScenarioError, match=r"\[\[action\]\] 1: the recover never took effect"):
        run(engine, act(1, 0, "recover"), act(2, 0, "publish"))
