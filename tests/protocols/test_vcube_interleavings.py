"""VCube-PS under messages that arrive in any order at all, judged by what applications saw.

Happened-before is taken from the applications alone: what a node had delivered when it
published. Barriers, counters and views are not looked at.
"""

from dataclasses import dataclass, field

import pytest
from chosen_order import ChosenOrder
from hypothesis import given
from hypothesis import strategies as st

from treecast.core import EventId, NodeId, Topic
from treecast.protocols.vcube.vcube_ps import VCubePS

CHAT = Topic("chat")


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


@given(
    nodes=st.sampled_from([2, 3, 4, 5, 8]),
    initial=st.sets(st.integers(0, 7)),
    steps=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 1_000), st.integers(0, 3)), max_size=80),
)
def test_any_order_of_arrival_keeps_causal_order_and_loses_nothing(
    nodes: int, initial: set[NodeId], steps: list[tuple[int, int, int]]
) -> None:
    """A step lets some message arrive (mostly), or some application act."""
    members = {node for node in initial if node < nodes}
    judge = Judge(
        ChosenOrder(VCubePS, nodes, {CHAT: members}), subscribed=[node in members for node in range(nodes)]
    )
    for turn, which, what in steps:
        under_way = len(judge.network.ahead)
        if turn and under_way:
            judge.arrive(which % under_way)
        else:
            judge.act(which % nodes, what)
    while judge.network.ahead:
        judge.arrive(len(judge.network.ahead) - 1)
    judge.check()
    no_broadcast_twice(judge.network)
    assert sum(len(events) for events in judge.network.delivered) >= sum(map(len, judge.owed.values()))


def test_the_judge_sees_an_event_that_overtakes_or_is_lost() -> None:
    network = ChosenOrder(VCubePS, 2, {CHAT: (0, 1)})
    judge = Judge(network, subscribed=[True, True])
    judge.act(0, 1)
    judge.act(0, 1)
    while network.ahead:
        judge.arrive(0)
    judge.check()
    network.delivered[1].reverse()
    with pytest.raises(AssertionError, match="overtook"):
        judge.check()
    network.delivered[1].clear()
    with pytest.raises(AssertionError, match="node 1 never delivered"):
        judge.check()
