"""Machines under messages that arrive in any order at all, judged by what applications saw.

Happened-before is taken from the applications alone: what a node had delivered when it
published. Barriers, counters and views are not looked at.
"""

from dataclasses import dataclass, field

from chosen_order import ChosenOrder
from hypothesis import strategies as st

from treecast.core import EventId, NodeId, Topic

CHAT = Topic("chat")
NODES = st.sampled_from([2, 3, 4, 5, 8])
INITIAL = st.sets(st.integers(0, 7))
STEPS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 1_000), st.integers(0, 3)), max_size=80)
"""A step lets some message arrive (mostly), or some application act."""


@dataclass
class Judge:
    """Runs a network and keeps, for each event, all before it and all who must get it."""

    network: ChosenOrder
    subscribed: list[bool]
    past: dict[EventId, frozenset[EventId]] = field(default_factory=dict)
    owed: dict[EventId, set[NodeId]] = field(default_factory=dict)
    joined: list[bool] = field(init=False)
    said: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.joined = list(self.subscribed)
        self.said = [len(each) for each in self.network.joined]

    def act(self, node: NodeId, what: int) -> None:
        if not self.subscribed[node]:
            self.network.subscribe(node, CHAT)
            self.subscribed[node] = True
        elif what == 0:
            self.network.unsubscribe(node, CHAT)
            self.subscribed[node] = self.joined[node] = False
            for owed in self.owed.values():
                owed.discard(node)
        else:
            before = frozenset(event.id for event in self.network.delivered[node])
            self.network.publish(node, CHAT, b"")
            event = self.network.delivered[node][-1]
            self.past[event.id] = before.union(*(self.past[each] for each in before))
            self.owed[event.id] = {other for other, stands in enumerate(self.joined) if stands}
        self.note_joined()

    def arrive(self, position: int) -> None:
        self.network.arrive_at(position)
        self.note_joined()

    def note_joined(self) -> None:
        for node, topics in enumerate(self.network.joined):
            if len(topics) > self.said[node]:
                self.said[node] = len(topics)
                self.joined[node] = True

    def check(self) -> None:
        for node, events in enumerate(self.network.delivered):
            order = [event.id for event in events]
            assert len(set(order)) == len(order), f"node {node} delivered twice: {order}"
            position = {identity: index for index, identity in enumerate(order)}
            for identity in order:
                for earlier in self.past[identity]:
                    late = position.get(earlier, -1) > position[identity]
                    assert not late, f"at node {node}, {identity} overtook {earlier}: {order}"
        for identity, owed in self.owed.items():
            for node in owed:
                assert any(event.id == identity for event in self.network.delivered[node]), (
                    f"node {node} never delivered {identity}"
                )
        assert self.joined == self.subscribed, "every subscription stands in the end"


def no_broadcast_twice(network: ChosenOrder) -> None:
    seen = set()
    for _, to, message in network.sent:
        if not message.is_ack:
            assert (to, message.kind, message.origin) not in seen
            seen.add((to, message.kind, message.origin))


def run_steps(network: ChosenOrder, members: set[NodeId], steps: list[tuple[int, int, int]]) -> None:
    """Take the steps, let everything arrive, and judge."""
    nodes = len(network.machines)
    judge = Judge(network, subscribed=[node in members for node in range(nodes)])
    for turn, which, what in steps:
        under_way = len(network.ahead)
        if turn and under_way:
            judge.arrive(which % under_way)
        else:
            judge.act(which % nodes, what)
    while network.ahead:
        judge.arrive(len(network.ahead) - 1)
    judge.check()
    no_broadcast_twice(network)
    assert sum(map(len, network.delivered)) >= sum(map(len, judge.owed.values()))
