"""A host whose node may crash and recover, and whose messages meet with faults.

A crash ends a life: the machine, its timers and what was in the processor are gone, and
what arrives while the node is down is lost. A recovery begins the next life with a new
machine that knows nothing; messages that were on their way before are handed to it.

A crash without `sends` is planned, so what would still wait in the outgoing queue then
never leaves. A crash in mid-send takes effect inside the call of `send`: the exception
`Crashed` ends all that the machine was about to do there, and what was sent before leaves.

Invariants:
- a message that arrived by `deaf_until_us` and was not handed on by then never is; at one
  instant a recovery comes after the arrivals, so these are lost as well;
- what befalls a message is decided by its sender alone, from streams of its own, when it
  sends; no fault shortens a flight.
"""

import sys
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from treecast.core import Machine, Message, NodeId, PeerError, Topic
from treecast.sim.faults import Obstacle, Slowness
from treecast.sim.host import Input, SimHost
from treecast.sim.network import Link
from treecast.sim.tally import Effect, Tally


class Crashed(BaseException):
    """The node crashed inside this call; not an `Exception`, so that no machine goes on after it."""


@dataclass(slots=True)
class Fate:
    """What may befall one node, and what has."""

    link: Link
    make_machine: Callable[[], Machine]
    life: int = 0
    down: bool = False
    deaf_until_us: int = -1
    crashes: deque[Input] = field(default_factory=deque)  # planned, by time
    sends_left: int | None = None  # until the crash in mid-send that is armed
    tally: Tally | None = None  # of the crash that is armed, or that has brought the node down
    obstacles: Sequence[Obstacle] = ()  # on the way out
    slowness: Sequence[Slowness] = ()


class FaultyHost(SimHost):
    """What both engines' hosts of such nodes have in common."""

    fate: Fate

    @property
    def life(self) -> int:
        return self.fate.life

    def send(self, to: NodeId, message: Message) -> None:
        fate, now_us = self.fate, self.now_us
        if fate.sends_left == 0:
            self._count("messages_never_left")
            raise Crashed
        if self.traced:
            self.observer.message_sent(now_us, self.node, to, message)
        departure_us = fate.link.departure_us(now_us, message)
        if fate.crashes and now_us < departure_us >= fate.crashes[0].at_us:
            self._never_leaves(message, fate.crashes[0].tally)
            return
        arrivals_us = [self._arrival_us(now_us, message)]
        for obstacle in fate.obstacles:
            arrivals_us = obstacle.befall(now_us, to, arrivals_us)
        for arrival_us in arrivals_us:
            self._carry(arrival_us, to, message)
        if len(arrivals_us) != 1:
            self.observer.message_vanished(message, 1 - len(arrivals_us))
        if fate.sends_left is not None:
            fate.sends_left -= 1
            if not fate.sends_left:
                raise Crashed

    def processing_us(self, begin_us: int, usual_us: int) -> int:
        return usual_us + sum(each.longer_us(begin_us) for each in self.fate.slowness)

    def note_processed(self, begin_us: int) -> None:
        """A message has been processed, from then on."""
        for each in self.fate.slowness:
            each.note_processed(begin_us)

    def plan(self, event: Input) -> None:
        super().plan(event)
        if event.do == "crash" and event.sends is None:
            self.fate.crashes.append(event)

    def hand_on(self, time_us: int, sender: NodeId, message: Message) -> None:
        if self.fate.down:
            self.now_us = time_us
            self.lose(message)
            return
        try:
            super().hand_on(time_us, sender, message)
        except Crashed:
            self._crash()
        except PeerError:  # no peer is to blame: faults took from the machine what it rests on
            self.arriving = None
            self.observer.refused += 1

    def do_next(self) -> None:
        try:
            super().do_next()
        except Crashed:
            self._crash()

    def lose(self, message: Message) -> None:
        """It arrived here and is never handed on."""
        self.observer.message_perished(message)
        self._count("messages_lost")

    def _count(self, effect: Effect) -> None:
        """What the crash that is armed, or has brought the node down, did."""
        tally = self.fate.tally
        assert tally is not None, "no crash without a tally"
        tally.add(effect)

    def _never_leaves(self, message: Message, tally: Tally | None) -> None:
        self.observer.message_vanished(message)
        if tally is not None:
            tally.add("messages_never_left")

    @abstractmethod
    def _empty_processor(self) -> Sequence[Message]:
        """Take out what has arrived and was not handed on, as far as the engine holds it apart."""

    def _do(self, event: Input) -> None:
        if event.do == "crash":
            self._meet(event)
        elif event.do == "recover":
            self._recover(event)
        elif self.fate.down:
            self.observer.input_skipped(event.do)
        else:
            super()._do(event)

    def begin_crashed(self, topics: list[Topic], tally: Tally) -> None:
        """Be down from the start, though subscribed to these topics, as others believe."""
        for topic in topics:
            self._note_subscribed(topic)
        self.fate.tally = tally
        self._crash()

    def _meet(self, event: Input) -> None:
        """Crash, or arm a crash in mid-send; of two that are armed, the one that comes first."""
        fate = self.fate
        if event.sends is None:
            fate.crashes.popleft()
        if fate.down:
            self.observer.input_skipped("crash")
        elif event.sends is None:
            fate.tally = event.tally
            self._crash()
        elif fate.sends_left is None or event.sends < fate.sends_left:
            fate.tally, fate.sends_left = event.tally, event.sends

    def _crash(self) -> None:
        fate = self.fate
        fate.down, fate.deaf_until_us, fate.sends_left = True, sys.maxsize, None
        self._subscribed.clear()
        self._registered.clear()
        self._timers.clear()
        self.early.clear()
        self.arriving = None
        self.busy_us = 0
        for message in self._empty_processor():
            self.lose(message)
        self.observer.node_changed("crash", self.now_us, self.node)
        self._count("nodes_crashed")

    def _recover(self, event: Input) -> None:
        fate = self.fate
        if not fate.down:
            fate.sends_left = None
            self.observer.input_skipped("recover")
            return
        fate.down, fate.deaf_until_us = False, self.now_us
        fate.life += 1
        self.observer.node_changed("recover", self.now_us, self.node)
        for tally in {id(each): each for each in (fate.tally, event.tally)}.values():
            if tally is not None:
                tally.add("recoveries")
        self.machine = fate.make_machine()
        self.start([])
