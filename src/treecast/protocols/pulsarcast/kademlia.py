"""Kademlia: a node's part in the distributed hash table (Pulsarcast, section 3; Kademlia 2002).

A component that a machine holds: it acts through the machine's Host, is handed the messages
and timers that are its own, and tells of results by the callback that came with the request.

Values are self-verifying (`dht_messages.belongs`). What does not belong under its key is
neither kept nor returned nor passed on, and counted, by whoever meets it.

Invariants:
- every request ends in a call of its callback, once: by an answer, or when its time is up;
- only who has spoken to this node stands in its table; who twice leaves requests
  unanswered goes from it;
- on a lookup's way nobody is asked twice (`lookup`).
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from treecast.core import EventId, Host, Message, NodeId, PeerError, TimerKey
from treecast.protocols.pulsarcast.dht_messages import (
    Content,
    FindNode,
    FindValue,
    Nodes,
    Ping,
    Pong,
    Provider,
    Reply,
    Request,
    Store,
    Stored,
    Value,
    Values,
    belongs,
    key_bytes,
    make_provider,
)
from treecast.protocols.pulsarcast.identity import Identity, key_of
from treecast.protocols.pulsarcast.lookup import Done, Lookup
from treecast.protocols.pulsarcast.settings import DhtSettings
from treecast.protocols.pulsarcast.value_store import ValueStore
from treecast.structures.xor_table import KEY_BITS, Contact, XorTable

FAILURES_MAX = 2
"""Answers that a contact may leave out, one after the other, before it is dropped."""
JOIN_DOUBLINGS_MAX = 6
"""A node that finds nobody waits twice as long before each try, up to here."""
_LIFE_BITS = 40

Answered: TypeAlias = Callable[[Request | None], None]
"""Told of the answer to a request, or of None when there was none in time."""


@dataclass(frozen=True, slots=True)
class Timeout:
    """Runs out when the oldest request that awaits its answer may be overdue."""


@dataclass(frozen=True, slots=True)
class Refresh:
    """Runs out when ranges that nothing was sought in are to be looked up."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """Runs out when values may have expired or be due to be stored anew."""


@dataclass(frozen=True, slots=True)
class Join:
    """Runs out when the node is to look for itself (again)."""

    tries: int


class Pending(NamedTuple):
    """A request under way."""

    peer: NodeId
    due_us: int
    answered: Answered


class Kademlia:
    """One node of the DHT."""

    def __init__(
        self,
        host: Host,
        node: NodeId,
        identity: Identity,
        settings: DhtSettings,
        seeds: Sequence[NodeId],
        accepts: Callable[[Content], bool] = lambda _: True,
    ) -> None:
        """`seeds`: whom a new node asks first. `accepts`: a further test of content to be kept."""
        self._host = host
        self._node = node
        self._identity = identity
        self._settings = settings
        self._timeout_us = round(settings.rpc_timeout_ms * 1000)
        self._seeds = [seed for seed in seeds if seed != node]
        self._accepts = accepts
        self._requests = host.life << _LIFE_BITS
        self._pending: dict[int, Pending] = {}
        self._order: deque[int] = deque()  # of pending requests, the oldest first
        self._timer_set = False
        self._heard_us: dict[NodeId, int] = {}
        self._failures: dict[NodeId, int] = {}
        self._pinged: set[NodeId] = set()
        self._renewed_us = 0
        self._own: dict[tuple[bytes, type], Value] = {}  # what this node stands for and stores anew
        self._sought_us: dict[int, int] = {}  # by bucket, when something was last looked up there
        self.table = XorTable(key_of(node), settings.k)
        self.values = ValueStore(round(settings.expire_ms * 1000), settings.values_max)
        self.ready = False
        self.unanswered = 0
        self._ready_calls: list[Callable[[], None]] = []

    # -- joining ------------------------------------------------------------------------

    def start(self) -> None:
        spread_us = round(self._settings.join_spread_ms * 1000)
        self._host.set_timer(Join(0), 1 + self._host.random.randrange(spread_us + 1))
        self._host.set_timer(Sweep(), self._jittered(self._settings.republish_ms / 4))
        self._host.set_timer(Refresh(), self._jittered(self._settings.refresh_ms))

    def when_ready(self, call: Callable[[], None]) -> None:
        """Call back when this node knows others, or that there are none."""
        if self.ready:
            call()
        else:
            self._ready_calls.append(call)

    def _join(self, tries: int) -> None:
        """Ask the seeds for this node's own neighbourhood, then fill the ranges that are not full."""
        for seed in self._seeds:
            self.table.seen(Contact(key_of(seed), seed))
        self.find_nodes(key_of(self._node), lambda lookup: self._joined(lookup, tries))

    def _joined(self, lookup: Lookup, tries: int) -> None:
        if not lookup.nearest and self._seeds:
            self._host.set_timer(Join(tries + 1), self._timeout_us << min(tries, JOIN_DOUBLINGS_MAX))
            return
        for number, contacts in enumerate(self.table.buckets[:-1]):
            if len(contacts) < self._settings.k:
                self._look_into(number)
        if self.ready:  # nodes that began together know one another only now
            self._renew()
        else:
            self.ready = True
            self._host.set_timer(Join(tries), self._jittered(self._settings.join_spread_ms + 1_000))
            for call in self._ready_calls:
                call()
            self._ready_calls.clear()

    def _look_into(self, number: int) -> None:
        """Look up a random key of one bucket's range."""
        low, high = self.table.distance_range(number)
        distance = self._host.random.randrange(low, high + 1)
        self.find_nodes(key_of(self._node) ^ distance, lambda _: None)

    def _refresh(self) -> None:
        due_us = self._host.now() - round(self._settings.refresh_ms * 1000)
        for number in range(len(self.table.buckets)):
            if self._sought_us.get(number, 0) <= due_us:
                self._look_into(number)
        self._host.set_timer(Refresh(), round(self._settings.refresh_ms * 1000))

    # -- looking up ---------------------------------------------------------------------

    def find_nodes(self, target: int, done: Done, *, by_seeds: bool = False) -> None:
        """Find the k nodes nearest to `target`; `by_seeds`: also by asking the seeds.

        The latter finds the way back to nodes that were cut off until all had dropped them.
        """
        lookup = Lookup(target, self._node, self._settings.k, self._settings.alpha, done, None)
        if by_seeds:
            lookup.ask_first(self._seeds)
        self._begin(lookup)

    def find_value(self, key: bytes, done: Done, providers_wanted: int = 0) -> None:
        """Find the content under `key`, or so many of its providers; `done`'s lookup has it in `values`."""
        records_wanted = providers_wanted or 1
        target = int.from_bytes(key, "big")
        lookup = Lookup(target, self._node, self._settings.k, self._settings.alpha, done, records_wanted)
        lookup.providers = providers_wanted > 0
        for value in self.values.values(key, self._host.now(), providers=lookup.providers):
            lookup.values[value] = None
        self._begin(lookup)

    def _begin(self, lookup: Lookup) -> None:
        shared = KEY_BITS - (key_of(self._node) ^ lookup.target).bit_length()
        self._sought_us[min(shared, len(self.table.buckets) - 1)] = self._host.now()
        known = [each.node for each in self.table.closest(lookup.target, self._settings.k)]
        lookup.add(known or self._seeds, 1)
        self._go_on(lookup)

    def _go_on(self, lookup: Lookup) -> None:
        if lookup.ended:
            return
        if lookup.is_over:
            lookup.ended = True
            lookup.done(lookup)
            return
        key = key_bytes(lookup.target)
        for node in lookup.next():
            answered = _Step(self, lookup, node)
            if lookup.records_wanted is None:
                self._ask(node, FindNode(self._next_origin(), key), answered)
            else:
                self._ask(node, FindValue(self._next_origin(), key, lookup.providers), answered)

    def step(self, lookup: Lookup, node: NodeId, answer: Request | None) -> None:
        """A lookup's question to `node` has been answered, or not."""
        if lookup.ended:
            return
        if isinstance(answer, Values):
            for value in answer.values:
                is_provider = isinstance(value, Provider)
                if is_provider == lookup.providers and belongs(key_bytes(lookup.target), value):
                    lookup.values[value] = None
                else:
                    self._host.count("dht: forged value")
            lookup.answered(node, answer.nodes[: self._settings.k])
        elif isinstance(answer, Nodes):
            lookup.answered(node, answer.nodes[: self._settings.k])
        else:
            lookup.failed(node)
        self._go_on(lookup)

    # -- storing ------------------------------------------------------------------------

    def store(self, key: bytes, value: Value, done: Callable[[int], None]) -> None:
        """Store at the k nearest; `done` is told how many keep it, this node included."""

        def found(lookup: Lookup) -> None:
            nodes = lookup.nearest
            distance = key_of(self._node) ^ lookup.target
            kept = 0
            if len(nodes) < self._settings.k or distance < key_of(nodes[-1]) ^ lookup.target:
                nodes = nodes[: self._settings.k - 1]
                kept = int(self._keep(key, value))
            _Storing(self, key, value, nodes, kept, done)

        self.find_nodes(int.from_bytes(key, "big"), found)

    def publish(self, key: bytes, value: Value, done: Callable[[int], None]) -> None:
        """Store, and store anew as long as this node lives."""
        self._own[key, type(value)] = value
        self.store(key, value, done)

    def uphold(self, key: bytes, value: Value) -> None:
        """Others have stored it: store it anew from time to time, as long as this node lives."""
        self._own.setdefault((key, type(value)), value)

    def provide(self, key: bytes) -> None:
        """Say that this node has a part in what has that key."""
        self.publish(key, make_provider(key, self._node, self._identity, self._host.now()), lambda _: None)

    def stop_providing(self, key: bytes) -> None:
        """Store it no more: it expires."""
        self._own.pop((key, Provider), None)

    def ask_to_keep(self, node: NodeId, key: bytes, value: Value, answered: Answered) -> None:
        self._ask(node, Store(self._next_origin(), key, value), answered)

    def _keep(self, key: bytes, value: Value) -> bool:
        if not belongs(key, value) or (isinstance(value, Content) and not self._accepts(value)):
            self._host.count("dht: forged value")
            return False
        if not self.values.keep(key, value, self._host.now()):
            self._host.count("dht: no room")
            return False
        return True

    def _renew(self) -> None:
        """Store anew what this node stands for, with its word as of now."""
        for (key, _), value in self._own.items():
            fresh = value
            if isinstance(value, Provider):
                fresh = make_provider(key, self._node, self._identity, self._host.now())
            self.store(key, fresh, lambda _: None)

    def _sweep(self) -> None:
        """Forget what has expired; store anew what is this node's, and what nobody else has of late."""
        now_us, every_us = self._host.now(), round(self._settings.republish_ms * 1000)
        expired = self.values.forget_expired(now_us)
        if expired:
            self._host.count("dht: expired", expired)
        for key, value in self.values.content_due(now_us - every_us):
            self.store(key, value, lambda _: None)
        if now_us - self._renewed_us >= every_us:
            self._renewed_us = now_us
            self._renew()
        self._host.set_timer(Sweep(), round(every_us / 4))

    # -- messages -----------------------------------------------------------------------

    def receive(self, sender: NodeId, message: Message) -> bool:
        """Whether it was a message of the DHT's."""
        if not isinstance(message, Request):
            return False
        self._hear(sender)
        match message:
            case Reply():
                self._on_reply(sender, message)
            case FindNode(origin, key):
                self._host.send(sender, Nodes(origin, self._nearest(sender, key)))
            case FindValue(origin, key, providers):
                self._on_find_value(sender, origin, key, providers)
            case Store(origin, key, value):
                self._host.send(sender, Stored(origin, self._keep(key, value)))
            case Ping(origin):
                self._host.send(sender, Pong(origin))
            case _:
                raise PeerError(f"node {sender} sent a {message.kind}, which the DHT does not know")
        return True

    def _on_find_value(self, sender: NodeId, origin: EventId, key: bytes, providers: bool) -> None:
        values = self.values.values(key, self._host.now(), providers=providers)
        if values:
            self._host.send(sender, Values(origin, values, self._nearest(sender, key)))
        else:
            self._host.send(sender, Nodes(origin, self._nearest(sender, key)))

    def _nearest(self, asker: NodeId, key: bytes) -> tuple[NodeId, ...]:
        found = self.table.closest(int.from_bytes(key, "big"), self._settings.k + 1)
        return tuple([each.node for each in found if each.node != asker][: self._settings.k])

    def _on_reply(self, sender: NodeId, reply: Reply) -> None:
        pending = self._pending.get(reply.origin.sequence)
        if pending is None or pending.peer != sender or reply.origin.publisher != self._node:
            self._host.count("dht: late answer")
            return
        del self._pending[reply.origin.sequence]
        pending.answered(reply)

    def _hear(self, node: NodeId) -> None:
        """`node` is alive. A full bucket's oldest is pinged, if it has not been heard for long."""
        now_us = self._host.now()
        self._heard_us[node] = now_us
        if self._failures:
            self._failures.pop(node, None)
        oldest = self.table.seen(Contact(key_of(node), node))
        if oldest is None or oldest.node in self._pinged:
            return
        if now_us - self._heard_us.get(oldest.node, 0) >= self._settings.quiet_ms * 1000:
            self._pinged.add(oldest.node)
            self._ask(oldest.node, Ping(self._next_origin()), lambda _: self._pinged.discard(oldest.node))

    # -- requests -----------------------------------------------------------------------

    def _next_origin(self) -> EventId:
        self._requests += 1
        return EventId(self._node, self._requests)

    def _ask(self, node: NodeId, request: Request, answered: Answered) -> None:
        number = request.origin.sequence
        self._pending[number] = Pending(node, self._host.now() + self._timeout_us, answered)
        self._order.append(number)
        self._host.send(node, request)
        if not self._timer_set:
            self._timer_set = True
            self._host.set_timer(Timeout(), self._timeout_us)

    def timer(self, key: TimerKey) -> bool:
        """Whether it was a timer of the DHT's."""
        match key:
            case Timeout():
                self._expire()
            case Join(tries):
                self._join(tries)
            case Refresh():
                self._refresh()
            case Sweep():
                self._sweep()
            case _:
                return False
        return True

    def _expire(self) -> None:
        """Give up requests whose time is up."""
        self._timer_set = False
        now_us, order, pending = self._host.now(), self._order, self._pending
        overdue: list[Pending] = []
        while order:
            first = pending.get(order[0])
            if first is not None:
                if first.due_us > now_us:
                    break
                overdue.append(first)
                del pending[order[0]]
            order.popleft()
        if order:
            self._timer_set = True
            self._host.set_timer(Timeout(), pending[order[0]].due_us - now_us)
        for each in overdue:
            self.unanswered += 1
            self._host.count("dht: no answer")
            self._fail(each.peer)
            each.answered(None)

    def _fail(self, node: NodeId) -> None:
        failures = self._failures[node] = self._failures.get(node, 0) + 1
        if failures >= FAILURES_MAX:
            self.forget(node)

    def forget(self, node: NodeId) -> None:
        """`node` is taken for gone, until it is heard again."""
        self.table.drop(key_of(node))
        self._failures.pop(node, None)
        self._heard_us.pop(node, None)

    def _jittered(self, ms: float) -> int:
        """Between half of it and one and a half, so that not all nodes do a thing at once."""
        return round(ms * 1000 * (0.5 + self._host.random.random()))


class _Step:
    """Takes the answer to one question of a lookup."""

    __slots__ = ("_dht", "_lookup", "_node")

    def __init__(self, dht: Kademlia, lookup: Lookup, node: NodeId) -> None:
        self._dht = dht
        self._lookup = lookup
        self._node = node

    def __call__(self, answer: Request | None) -> None:
        self._dht.step(self._lookup, self._node, answer)


class _Storing:
    """Counts who keeps a value."""

    __slots__ = ("_done", "_kept", "_left")

    def __init__(
        self,
        dht: Kademlia,
        key: bytes,
        value: Value,
        nodes: Sequence[NodeId],
        kept: int,
        done: Callable[[int], None],
    ) -> None:
        self._kept = kept
        self._left = len(nodes)
        self._done = done
        for node in nodes:
            dht.ask_to_keep(node, key, value, self)
        if not nodes:
            done(kept)

    def __call__(self, answer: Request | None) -> None:
        self._left -= 1
        if isinstance(answer, Stored):
            self._kept += answer.accepted
        if not self._left:
            self._done(self._kept)
