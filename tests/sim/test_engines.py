"""Both engines against the tie rule, by a machine that only writes down what it is told."""

from typing import Any

import pytest

from treecast.core import EventId, Host, Message, NodeId, TimerKey, Topic
from treecast.protocols.registry import PROTOCOLS, Entry
from treecast.protocols.setup import Setup
from treecast.protocols.vcube.messages import Ack, Sub
from treecast.sim import Scenario, simulate
from treecast.sim.scenario import Action, PacketNetwork

TOPIC = Topic("t")


class Diary:
    """Writes down every input with its time; node 0 is spoken to and the others speak.

    On `subscribe` a node sends a SUB and an ACK to node 0 and sets timers; node 0 answers
    each message by a timer of the length that the sender's number gives.
    """

    pages: list[tuple[int, NodeId, str]]

    def __init__(self, host: Host, node: NodeId, setup: Setup) -> None:
        self.host = host
        self.node = node

    def note(self, what: str) -> None:
        self.pages.append((self.host.now(), self.node, what))

    def start(self) -> None:
        self.note("start")

    def subscribe(self, topic: Topic) -> None:
        self.note("subscribe")
        for round_ in range(2):
            self.host.send(0, Sub(topic, EventId(self.node, round_)))
            self.host.send(0, Ack(topic, EventId(self.node, round_), ()))
        self.host.set_timer("replaced", 50)
        self.host.set_timer("replaced", 3 + self.host.random.randrange(100))
        self.host.set_timer("cancelled", 4)
        self.host.set_timer("now", 0)

    def unsubscribe(self, topic: Topic) -> None:
        self.note("unsubscribe")

    def publish(self, topic: Topic, payload: bytes) -> EventId:
        raise AssertionError("nobody publishes here")

    def receive(self, sender: NodeId, message: Message) -> None:
        self.note(f"{message.kind} from {sender}")
        self.host.set_timer(f"after {sender}", 10 * sender)

    def timer(self, key: TimerKey) -> None:
        self.note(f"timer {key}")
        self.host.cancel_timer("cancelled")
        if key == "now":
            self.host.set_timer("in a moment", 0)


def diary(engine: Any, **network: Any) -> list[tuple[int, NodeId, str]]:
    """Pages in the order of time, then of nodes, then as written at the node."""
    Diary.pages = []
    PROTOCOLS["diary"] = Entry(Diary)
    try:
        simulate(
            Scenario(
                name="diary",
                protocol="diary",
                nodes=5,
                network=PacketNetwork(**network),
                actions=tuple(
                    Action(at_ms=at_us / 1000, node=node, do=do, topic=TOPIC)
                    for at_us, node, do in [
                        (0, 3, "subscribe"),
                        (0, 1, "subscribe"),
                        (0, 2, "subscribe"),
                        (1, 4, "subscribe"),
                        (110, 4, "unsubscribe"),
                        (120, 0, "subscribe"),
                    ]
                ),
            ),
            journal="counters",
            engine=engine,
        )
    finally:
        del PROTOCOLS["diary"]
    return sorted(Diary.pages, key=lambda page: page[:2])


@pytest.mark.parametrize("acks", ["free", "charged"])
@pytest.mark.parametrize("processing_us", [0, 1, 7, 150])
@pytest.mark.parametrize("transmission_us", [0, 1, 10])
def test_both_engines_tell_machines_the_same(transmission_us: int, processing_us: int, acks: str) -> None:
    settings = {
        "transmission_us": transmission_us,
        "processing_us": processing_us,
        "propagation_us": 100,
        "acks": acks,
    }
    windowed = diary("windowed", **settings)
    assert windowed == diary("event-order", **settings)
    assert len(windowed) > 30


@pytest.mark.parametrize("engine", ["windowed", "event-order"])
def test_the_tie_rule(engine: str) -> None:
    """At one instant and node: passing arrivals by sender, then completions, timers, inputs."""
    pages = diary(engine, transmission_us=10, processing_us=10, propagation_us=100, acks="free")
    told = [(time_us, what) for time_us, node, what in pages if node == 0]
    # Nodes 1, 2 and 3 send at 0: free ACKs pass at 110, SUBs arrive at 110 and 120 and wait their turn.
    assert told[:8] == [
        (0, "start"),
        (110, "ACK from 1"),
        (110, "ACK from 1"),
        (110, "ACK from 2"),
        (110, "ACK from 2"),
        (110, "ACK from 3"),
        (110, "ACK from 3"),
        (111, "ACK from 4"),
    ]
    at_120 = [what for time_us, what in told if time_us == 120]
    assert at_120 == ["SUB from 1", "subscribe", "timer now", "timer in a moment"]
    at_130 = [what for time_us, what in told if time_us == 130]
    assert at_130 == ["SUB from 2", "timer after 1"], "a completion comes before a timer of that instant"


@pytest.mark.parametrize("engine", ["windowed", "event-order"])
def test_timers_are_replaced_and_cancelled(engine: str) -> None:
    told = [what for _, node, what in diary(engine) if node == 2]
    assert told.count("timer replaced") == 1
    assert "timer cancelled" not in told
    assert told.index("timer now") < told.index("timer in a moment") < told.index("timer replaced")
