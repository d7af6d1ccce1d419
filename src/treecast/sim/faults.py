"""What faults of the network do to messages, and slow nodes to what they process.

Invariants:
- a sender alone decides what befalls what it sends, from streams of its own;
- no fault shortens a flight, so the shortest one stays what the windowed engine takes it for;
- each counts what it did, by the message.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from random import Random

from treecast.core import NodeId
from treecast.sim.randomness import stream
from treecast.sim.scenario import Scenario, loss_share
from treecast.sim.scenario_faults import (
    Crashed,
    Duplication,
    Fault,
    Lasting,
    Loss,
    Partition,
    Slow,
    Unseen,
)
from treecast.sim.scenario_keys import Selection, draw
from treecast.sim.tally import Tally


def fault_ends_us(scenario: Scenario) -> list[int]:
    """When each of a scenario's faults is over that lasts for a time."""
    return [round(fault.window_ms[1] * 1000) for fault in scenario.faults if isinstance(fault, Lasting)]


class Span:
    """The window of a fault, in microseconds, and where it is counted what it did."""

    def __init__(self, fault: Lasting, tally: Tally) -> None:
        self._begin_us, self._end_us = (round(edge * 1000) for edge in fault.window_ms)
        self._tally = tally

    def holds(self, at_us: int) -> bool:
        return self._begin_us <= at_us < self._end_us


class Obstacle(ABC):
    """What stands in the way of one sender's messages."""

    @abstractmethod
    def befall(self, sent_us: int, to: NodeId, arrivals_us: list[int]) -> list[int]:
        """When a message arrives, and its copies, that would have arrived at these times."""


class Success(Obstacle):
    """The network's own: a message arrives with some probability. Nobody counts it, as it is no fault."""

    def __init__(self, loss: float, random: Random) -> None:
        self._loss = loss
        self._random = random

    def befall(self, sent_us: int, to: NodeId, arrivals_us: list[int]) -> list[int]:
        return [] if self._random.random() < self._loss else arrivals_us


class FaultyWay(Span, Obstacle):
    """One fault as one sender's messages to some receivers meet it."""

    def __init__(self, fault: Lasting, tally: Tally, receivers: frozenset[NodeId]) -> None:
        super().__init__(fault, tally)
        self._receivers = receivers

    def befall(self, sent_us: int, to: NodeId, arrivals_us: list[int]) -> list[int]:
        if arrivals_us and self.holds(sent_us) and to in self._receivers:
            return self._befall(arrivals_us)
        return arrivals_us

    @abstractmethod
    def _befall(self, arrivals_us: list[int]) -> list[int]: ...


class _Losing(FaultyWay):
    def __init__(self, fault: Loss, tally: Tally, receivers: frozenset[NodeId], random: Random) -> None:
        super().__init__(fault, tally, receivers)
        self._share = fault.share
        self._random = random

    def _befall(self, arrivals_us: list[int]) -> list[int]:
        left = [each for each in arrivals_us if self._random.random() >= self._share]
        self._tally.add("messages_lost", len(arrivals_us) - len(left))
        return left


class _Copying(FaultyWay):
    def __init__(
        self, fault: Duplication, tally: Tally, receivers: frozenset[NodeId], random: Random
    ) -> None:
        super().__init__(fault, tally, receivers)
        self._share = fault.share
        self._later_us_max = fault.later_us_max
        self._random = random

    def _befall(self, arrivals_us: list[int]) -> list[int]:
        copied = [each for each in arrivals_us if self._random.random() < self._share]
        self._tally.add("copies_made", len(copied))
        return arrivals_us + [each + self._random.randint(0, self._later_us_max) for each in copied]


class _Blocking(FaultyWay):
    def _befall(self, arrivals_us: list[int]) -> list[int]:
        self._tally.add("messages_blocked", len(arrivals_us))
        return []


class _NotSeeing(Span, Obstacle):
    """A sender that takes some for crashed: whom is drawn when he first sends to each."""

    def __init__(self, fault: Unseen, tally: Tally, random: Random) -> None:
        super().__init__(fault, tally)
        self._share = fault.share
        self._random = random
        self._unseen: dict[NodeId, bool] = {}

    def befall(self, sent_us: int, to: NodeId, arrivals_us: list[int]) -> list[int]:
        if not self.holds(sent_us):
            return arrivals_us
        if to not in self._unseen:
            self._unseen[to] = self._random.random() < self._share
        if not self._unseen[to]:
            return arrivals_us
        self._tally.add("messages_lost", len(arrivals_us))
        return []


class Slowness(Span):
    """A time in which a node takes longer to process a message."""

    def __init__(self, fault: Slow, tally: Tally) -> None:
        super().__init__(fault, tally)
        self._longer_us = fault.longer_us

    def longer_us(self, begin_us: int) -> int:
        """By how much, if its processing begins then."""
        return self._longer_us if self.holds(begin_us) else 0

    def note_processed(self, begin_us: int) -> None:
        if self.holds(begin_us):
            self._tally.add("messages_delayed")


class Faults:
    """The faults of a scenario, by the node that meets them, each in the order of their tables."""

    def __init__(
        self, scenario: Scenario, tallies: Mapping[str, Tally], publishers: Collection[NodeId] = ()
    ) -> None:
        """`publishers`: whom workloads have publish."""
        self.obstacles: dict[NodeId, list[Obstacle]] = {}
        self.slowness: dict[NodeId, list[Slowness]] = {}
        self._seed = scenario.seed
        self._everyone = range(scenario.nodes)
        self.crashed: dict[NodeId, Tally] = {}
        """Who has crashed before the run begins, and where that is counted."""
        self._publishers = publishers
        loss = loss_share(scenario.network)
        if loss:
            for node in self._everyone:
                self._obstruct(node, Success(loss, stream(scenario.seed, "success", node)))
        for number, fault in enumerate(scenario.faults, start=1):
            self._add(number, fault, tallies[f"[[fault]] {number}"])

    def _add(self, number: int, fault: Fault, tally: Tally) -> None:
        match fault:
            case Loss():
                receivers = frozenset(self._draw(fault.receivers, number, "receivers"))
                for node in self._draw(fault.senders, number, "senders"):
                    self._obstruct(node, _Losing(fault, tally, receivers, self._stream(number, node)))
            case Duplication():
                receivers = frozenset(self._draw(fault.receivers, number, "receivers"))
                for node in self._draw(fault.senders, number, "senders"):
                    self._obstruct(node, _Copying(fault, tally, receivers, self._stream(number, node)))
            case Partition():
                self._divide(fault, tally, frozenset(self._draw(fault.side, number, "side")))
            case Crashed():
                spared = self._publishers if fault.publishers_stay else ()
                for node in self._draw(fault.nodes, number, "nodes"):
                    if node not in spared:
                        self.crashed.setdefault(node, tally)
            case Unseen():
                for node in self._everyone:
                    self._obstruct(node, _NotSeeing(fault, tally, self._stream(number, node)))
            case Slow():
                for node in self._draw(fault.nodes, number, "nodes"):
                    self.slowness.setdefault(node, []).append(Slowness(fault, tally))

    def _divide(self, fault: Partition, tally: Tally, side: frozenset[NodeId]) -> None:
        others = frozenset(self._everyone) - side
        if fault.blocked != "in":
            for node in side:
                self._obstruct(node, _Blocking(fault, tally, others))
        if fault.blocked != "out":
            for node in others:
                self._obstruct(node, _Blocking(fault, tally, side))

    def _obstruct(self, node: NodeId, obstacle: Obstacle) -> None:
        self.obstacles.setdefault(node, []).append(obstacle)

    def _draw(self, selection: Selection, number: int, key: str) -> list[NodeId]:
        return draw(selection, self._everyone, self._stream(number, key))

    def _stream(self, number: int, whose: object) -> Random:
        return stream(self._seed, "fault", number, whose)
