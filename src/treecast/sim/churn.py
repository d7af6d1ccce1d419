"""Who leaves and who joins, planned before the run (VCube-PS 2018, section 4.5; VCube-PB, section 6).

Invariants: the number of a topic's subscribers stays what it is (`Exchange`: at the end of
its window); who leaves does not join in the same instant.
"""

from bisect import bisect_left, insort
from collections.abc import Collection, Iterator, Sequence
from random import Random
from typing import Literal, TypeAlias

from treecast.core import NodeId
from treecast.sim.scenario_faults import Churn, Exchange, Sessions, Turnover
from treecast.sim.scenario_keys import selected_count

Change: TypeAlias = tuple[int, NodeId, Literal["subscribe", "unsubscribe"]]
"""When, who, and what."""


class Membership:
    """Who is subscribed to a topic and who is not, as it is planned."""

    def __init__(self, subscribers: Collection[NodeId], nodes: int) -> None:
        self.members = sorted(subscribers)
        self._others = sorted(set(range(nodes)).difference(subscribers))

    def set(self, node: NodeId, *, present: bool) -> None:
        """Take a node in, or out; the same again changes nothing."""
        source, target = (self._others, self.members) if present else (self.members, self._others)
        position = bisect_left(source, node)
        if position < len(source) and source[position] == node:
            del source[position]
            insort(target, node)

    def exchange(self, at_us: int, leavers: Sequence[NodeId], random: Random) -> list[Change]:
        """These leave; as many join, as far as there are others."""
        joiners = random.sample(self._others, min(len(leavers), len(self._others)))
        leavers = leavers[: len(joiners)]
        for node in leavers:
            self.set(node, present=False)
        for node in joiners:
            self.set(node, present=True)
        return [
            *((at_us, node, "unsubscribe") for node in leavers),
            *((at_us, node, "subscribe") for node in joiners),
        ]

    def without(self, staying: Collection[NodeId]) -> list[NodeId]:
        """The members that may leave."""
        return [node for node in self.members if node not in staying] if staying else self.members


def changes(
    churn: Churn, subscribers: Sequence[NodeId], nodes: int, staying: Collection[NodeId], random: Random
) -> Iterator[Change]:
    """All that a churn does, by time but for an exchange's; `staying`: whom it spares if it is told to."""
    membership = Membership(subscribers, nodes)
    match churn:
        case Sessions():
            return _sessions(churn, membership, random)
        case Turnover():
            return _turnover(churn, membership, staying if churn.publishers_stay else (), random)
        case Exchange():
            return _exchange(churn, membership, staying if churn.publishers_stay else (), random)


def _window_us(churn: Churn) -> tuple[int, int]:
    begin_ms, end_ms = churn.window_ms
    return round(begin_ms * 1000), round(end_ms * 1000)


def _sessions(churn: Sessions, membership: Membership, random: Random) -> Iterator[Change]:
    """Exponential sessions have no memory: anybody may be the next to leave, at a steady rate."""
    begin_us, end_us = _window_us(churn)
    rate = len(membership.members) / (churn.session_ms_mean * 1000)
    at_us = float(begin_us)
    while (at_us := at_us + random.expovariate(rate)) < end_us:
        leaver = random.choice(membership.members)
        yield from membership.exchange(round(at_us), [leaver], random)


def _turnover(
    churn: Turnover, membership: Membership, spared: Collection[NodeId], random: Random
) -> Iterator[Change]:
    begin_us, end_us = _window_us(churn)
    every_us = churn.every_ms * 1000
    turn = 0
    while (at_us := begin_us + round(turn * every_us)) < end_us:
        turn += 1
        candidates = membership.without(spared)
        count = random.randint(0, round(churn.share_max * len(membership.members)))
        leavers = random.sample(candidates, min(count, len(candidates)))
        yield from membership.exchange(at_us, leavers, random)


def _exchange(
    churn: Exchange, membership: Membership, spared: Collection[NodeId], random: Random
) -> Iterator[Change]:
    begin_us, end_us = _window_us(churn)
    if isinstance(churn.leavers, tuple):
        leavers = [node for node in churn.leavers if node in membership.members]
    else:
        candidates = membership.without(spared)
        count = selected_count(churn.leavers, len(membership.members))
        leavers = random.sample(candidates, min(count, len(candidates)))
    for _, node, do in membership.exchange(begin_us, leavers, random):
        yield random.randint(begin_us, end_us), node, do
