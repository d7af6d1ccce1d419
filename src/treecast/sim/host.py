"""The simulator's host: one node's clock, agenda, way out and application.

Its agenda holds what the node itself does at a time: timers that run out, and inputs of
its application. Tie rule at one instant and node: arrivals by ascending sender, then
completions of processing, then timers, then inputs.
"""

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from random import Random
from typing import TypeAlias

from treecast.core import (
    Event,
    EventId,
    Host,
    Machine,
    Message,
    NodeId,
    ScenarioError,
    TimerKey,
    Topic,
    UsageError,
)
from treecast.sim.network import Link
from treecast.sim.observer import Observer
from treecast.sim.randomness import stream
from treecast.sim.scenario import Deed
from treecast.sim.tally import Tally

ARRIVAL, COMPLETION, TIMER, INPUT = range(4)
"""The tie rule, as priorities."""

QUEUE_FULL = "messages dropped by nodes whose queue was full"


@dataclass(frozen=True, slots=True)
class Input:
    """What a node, or its application, does; `place` says where the scenario asks for it."""

    at_us: int
    node: NodeId
    do: Deed
    topic: Topic | None
    place: str
    lenient: bool = False
    """Left out and counted, instead of an error, when the node's membership does not allow it."""
    sends: int | None = None
    """Of a crash: how many messages leave before."""
    tally: Tally | None = None
    """Where it is counted that this was done."""


@dataclass(frozen=True, slots=True)
class Passing:
    """A message that does not wait for the processor."""

    sender: NodeId
    message: Message


AgendaEntry: TypeAlias = tuple[int, int, int, "Input | TimerKey | Passing"]
"""Time, priority, order of entering, and what to do."""


class SimHost(Host):
    """What both engines' hosts have in common; an engine adds `send`, `_carry` and `_wake`."""

    __slots__ = (
        "_arrival_us",
        "_orders",
        "_random",
        "_registered",
        "_seed",
        "_subscribed",
        "_through_us",
        "_timers",
        "agenda",
        "arriving",
        "busy_us",
        "early",
        "machine",
        "node",
        "now_us",
        "observer",
        "traced",
    )

    machine: Machine

    def __init__(self, node: NodeId, seed: int, link: Link, observer: Observer) -> None:
        self.node = node
        self._arrival_us = link.arrival_us
        self.observer = observer
        self.traced = observer.traces_messages
        self.now_us = 0
        self.busy_us = 0  # when the processor is through with all that has arrived
        self._through_us: deque[int] = deque()  # when the processor is through with what waits for it
        self.agenda: list[AgendaEntry] = []
        self.arriving: Event | None = None  # the event in the message being handled
        self.early: dict[EventId, int] = {}  # when events came that are not delivered yet
        self._orders = 0
        self._timers: dict[TimerKey, int] = {}
        self._seed = seed
        self._random: Random | None = None
        self._subscribed: set[Topic] = set()
        self._registered: set[Topic] = set()

    @abstractmethod
    def _carry(self, arrival_us: int, to: NodeId, message: Message) -> None:
        """Have `message` arrive at that time."""

    @abstractmethod
    def _wake(self, at_us: int) -> None:
        """Make the engine look at the agenda at that time."""

    @property
    def random(self) -> Random:
        if self._random is None:
            self._random = stream(self._seed, "node", self.node)
        return self._random

    @property
    def life(self) -> int:
        return 0

    def now(self) -> int:
        return self.now_us

    def published(self, event: Event) -> None:
        self.observer.event_published(self.now_us, event)

    def deliver(self, event: Event) -> None:
        if event is self.arriving:
            self.arriving = None
            self.observer.event_delivered(self.now_us, self.node, event, self.now_us)
        elif (received_us := self.early.pop(event.id, None)) is not None:
            self.observer.event_delivered(self.now_us, self.node, event, received_us)
        elif event.id.publisher == self.node:
            self.observer.own_event_delivered(self.now_us, event)
        else:  # it came by another way than as a message's event
            self.observer.event_delivered(self.now_us, self.node, event, self.now_us)

    def joined(self, topic: Topic) -> None:
        self.observer.membership_changed("joined", self.now_us, self.node, topic)

    def peer_changed(self, peer: NodeId, *, alive: bool) -> None:
        self.observer.peer_changed("trust" if alive else "suspect", self.now_us, self.node, peer)

    def hangs(self, topic: Topic, parent: NodeId | None) -> None:
        self.observer.tree_changed("hangs", self.now_us, self.node, topic, parent)

    def cut_off(self, topic: Topic) -> None:
        self.observer.tree_changed("cut_off", self.now_us, self.node, topic, None)

    def answered(self, request: EventId, event: EventId | None, reason: str) -> None:
        self.observer.request_answered(self.now_us, self.node, request, event, reason)

    def count(self, what: str, times: int = 1) -> None:
        self.observer.counts[what] += times

    def set_timer(self, key: TimerKey, after_us: int) -> None:
        at_us = self.now_us + after_us
        self._timers[key] = self._enter(at_us, TIMER, key)
        self._wake(at_us)

    def cancel_timer(self, key: TimerKey) -> None:
        self._timers.pop(key, None)

    def plan(self, event: Input) -> None:
        self._enter(event.at_us, INPUT, event)
        self._wake(event.at_us)

    def plan_arrival(self, at_us: int, sender: NodeId, message: Message) -> None:
        self._enter(at_us, ARRIVAL, Passing(sender, message))

    def _enter(self, at_us: int, priority: int, what: "Input | TimerKey | Passing") -> int:
        self._orders += 1
        heappush(self.agenda, (at_us, priority, self._orders, what))
        return self._orders

    # -- what engines call ------------------------------------------------------------

    def start(self, topics: list[Topic]) -> None:
        """Begin, with these topics subscribed to beforehand."""
        for topic in topics:
            self._note_subscribed(topic)
        self.machine.start()

    def hand_on(self, time_us: int, sender: NodeId, message: Message) -> None:
        """Tell the machine of a message whose processing ends now."""
        self.now_us = time_us
        if self.traced:
            self.observer.message_received(time_us, self.node, sender, message)
        self.arriving = message.event
        self.machine.receive(sender, message)
        if self.arriving is not None:
            self.note_early()

    def processing_us(self, begin_us: int, usual_us: int) -> int:
        """How long a message is processed whose processing begins at `begin_us`."""
        return usual_us

    def finds_room(self, arrival_us: int, queue_max: int) -> bool:
        """Whether fewer than that wait as a message arrives; at one instant it comes before who leaves."""
        through_us = self._through_us
        while through_us and through_us[0] < arrival_us:
            through_us.popleft()
        return len(through_us) < queue_max

    def note_waiting(self, through_us: int) -> None:
        """A message waits for the processor, which will be through with it then."""
        self._through_us.append(through_us)

    def drop(self, message: Message) -> None:
        """It arrived and found the queue full."""
        self.observer.message_perished(message)
        self.observer.counts[QUEUE_FULL] += 1

    def do_until(self, bound: tuple[int, ...]) -> None:
        """Do what the agenda holds before `bound`, which is a time and perhaps a priority."""
        agenda = self.agenda
        while agenda and agenda[0] < bound:
            self.do_next()

    def do_next(self) -> None:
        """Do the first entry of the agenda, at its time."""
        self.now_us, _, order, what = heappop(self.agenda)
        if isinstance(what, Passing):
            self.hand_on(self.now_us, what.sender, what.message)
        elif isinstance(what, Input):
            self._do(what)
        elif self._timers.get(what) == order:  # neither cancelled nor replaced since
            del self._timers[what]
            self.machine.timer(what)

    def passing(self) -> Iterator[Message]:
        """The messages in the agenda."""
        return (what.message for *_, what in self.agenda if isinstance(what, Passing))

    def note_early(self) -> None:
        """The message just handled brought an event that was not delivered at once."""
        event, self.arriving = self.arriving, None
        if event is None:
            return
        observer = self.observer
        if not observer.is_parasite(event.topic, self._subscribed):
            if observer.ordered:
                self.early.setdefault(event.id, self.now_us)
        elif observer.hierarchy is None or observer.is_parasite(event.topic, self._registered):
            observer.false_positives += 1

    def _do(self, event: Input) -> None:
        topic = event.topic
        assert topic is not None, "only a host that may crash is told to"
        if event.lenient and not self._allows(event.do, topic):
            self.observer.input_skipped(event.do)
            return
        try:
            match event.do:
                case "publish":
                    self.machine.publish(topic, b"")
                case "subscribe":
                    self._note_subscribed(topic)
                    self.machine.subscribe(topic)
                case "unsubscribe":
                    self.machine.unsubscribe(topic)
                    self._subscribed.discard(topic)
                    self.observer.membership_changed("unsubscribe", self.now_us, self.node, topic)
                case "register":
                    self._note_registered(topic)
                    self.machine.register(topic)
                case "unregister":
                    self.machine.unregister(topic)
                    self._registered.discard(topic)
                    self.observer.membership_changed("unregister", self.now_us, self.node, topic)
        except UsageError as error:
            raise ScenarioError(f"{event.place}, at {self.now_us / 1000:g} ms: {error}") from error
        if event.tally is not None:
            event.tally.add("leaves" if event.do == "unsubscribe" else "joins")

    def _allows(self, do: Deed, topic: Topic) -> bool:
        """Whether this node's membership is such that its application may do that."""
        match do:
            case "publish":
                return topic in self._subscribed or topic in self._registered
            case "subscribe" | "unsubscribe":
                return (topic in self._subscribed) == (do == "unsubscribe")
            case _:
                return (topic in self._registered) == (do == "unregister")

    def _note_subscribed(self, topic: Topic) -> None:
        self._subscribed.add(topic)
        self.observer.membership_changed("subscribe", self.now_us, self.node, topic)

    def _note_registered(self, topic: Topic) -> None:
        self._registered.add(topic)
        self.observer.membership_changed("register", self.now_us, self.node, topic)


@dataclass(slots=True)
class Progress:
    """How far a run is."""

    now_us: int
    hops: int
    published: int
    delivered: int
    planned: int


ProgressCallback: TypeAlias = Callable[[Progress], None]
