"""Pulsarcast: topics and events in a DHT, events down dissemination trees (the paper's section 3).

One node: its part in the DHT (`kademlia`), its places in the topics' trees (`trees`), what it
has of each topic (`history`), and what it publishes (`publishing`). This module hands each
its messages and timers, passes events on, and fetches what is missing.
docs/protocols/pulsarcast.md maps the paper's functions, and says what is done differently.

Invariants:
- an event is delivered once in a life of a node, and passed on once to each neighbour, after all
  that it links to;
- what is delivered or passed on was checked: hash, signatures, topic, publisher.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from treecast.core import (
    EventId,
    Host,
    Machine,
    Message,
    NodeId,
    PeerError,
    TimerKey,
    Topic,
    UsageError,
)
from treecast.protocols.pulsarcast.cids import Cid
from treecast.protocols.pulsarcast.dht_messages import Content, Provider, content_key
from treecast.protocols.pulsarcast.history import BATCH_MAX
from treecast.protocols.pulsarcast.identity import simulated_identity
from treecast.protocols.pulsarcast.kademlia import Kademlia
from treecast.protocols.pulsarcast.lookup import Lookup
from treecast.protocols.pulsarcast.messages import Answer, Ask, Carried, Given, Pub, Want
from treecast.protocols.pulsarcast.places import Place
from treecast.protocols.pulsarcast.publishing import Publishing
from treecast.protocols.pulsarcast.records import Record, carried_of, is_sound
from treecast.protocols.pulsarcast.settings import SEEDS, PulsarcastSettings
from treecast.protocols.pulsarcast.topics import TopicBook
from treecast.protocols.pulsarcast.trees import Trees
from treecast.protocols.refusals import (
    already_registered,
    already_subscribed,
    cannot_publish,
    not_registered,
    not_subscribed,
)
from treecast.protocols.setup import Setup
from treecast.protocols.vcube.view import is_member

DHT_FETCHES_MAX = 8
"""Of what is overdue, so much is looked up in the DHT at a time."""
MEMBERS_SOUGHT = 8
"""Of a topic's members, so many are looked up to ask one of them."""


@dataclass(frozen=True, slots=True)
class FetchTimer:
    """Runs out when what is missing may be overdue."""

    topic: Topic


class Pulsarcast(Machine):
    """One node of Pulsarcast."""

    def __init__(self, host: Host, node: NodeId, setup: Setup) -> None:
        settings = setup.settings
        assert isinstance(settings, PulsarcastSettings), "the registry names the class of settings"
        self._host = host
        self._node = node
        self._setup = setup
        self._fetch_us = round(settings.fetch_ms * 1000)
        identity = simulated_identity(node)
        self._book = TopicBook(setup)
        self._fetching: set[Topic] = set()
        self.dht = Kademlia(host, node, identity, settings, setup.nodes[:SEEDS], is_sound)
        self.trees = Trees(host, node, settings, self.dht, self._book, self)
        self.publishing = Publishing(host, node, identity, settings, self.trees, self.dht, self)

    # -- the application's side -----------------------------------------------------------

    def start(self) -> None:
        self.dht.start()
        for topic in self._book.owned(self._node):
            self._create(topic)
        if self._host.life:
            return
        for topic, members in self._setup.subscribers.items():
            if is_member(self._node, members):
                self._subscribe(topic)

    def _create(self, topic: Topic) -> None:
        """Store the meta topic, then the topic that links to it (algorithm 1); be its root."""
        known = self._book.known(topic)
        place = self.trees.place(topic)
        self.trees.learn(place, known.descriptor.encode())
        self.trees.make_root(place)
        meta, data = known.meta, known.descriptor

        def store_topic(_: int) -> None:
            self.dht.publish(content_key(data.cid_bytes), Content(data.encode()), lambda _: None)

        self.dht.when_ready(
            lambda: self.dht.publish(content_key(meta.cid_bytes), Content(meta.encode()), store_topic)
        )

    def subscribe(self, topic: Topic) -> None:
        if self.trees.place(topic).subscribed:
            raise already_subscribed(self._node, topic)
        if self._book.owner(topic) == self._node and not self.trees.place(topic).standing:
            self._create(topic)
        self._subscribe(topic)

    def _subscribe(self, topic: Topic) -> None:
        place = self.trees.place(topic)
        place.subscribed, place.told_joined, place.leaving = True, False, False
        if place.standing:
            place.told_joined = True
            self._host.joined(topic)
        self.trees.enter(place)

    def unsubscribe(self, topic: Topic) -> None:
        place = self.trees.place(topic)
        if not place.subscribed:
            raise not_subscribed(self._node, topic)
        place.subscribed = place.told_joined = False
        self.dht.stop_providing(content_key(place.history.cid))
        self.trees.hand_on_and_leave(place)

    def register(self, topic: Topic) -> None:
        place = self.trees.place(topic)
        if place.published:
            raise already_registered(self._node, topic)
        place.published, place.leaving = True, False
        self.trees.enter(place)

    def unregister(self, topic: Topic) -> None:
        place = self.trees.place(topic)
        if not place.published:
            raise not_registered(self._node, topic)
        place.published = False
        if not place.subscribed:
            self.trees.hand_on_and_leave(place)

    def publish(self, topic: Topic, payload: bytes) -> EventId:
        return self.publish_after(topic, payload, None)

    def publish_after(self, topic: Topic, payload: bytes, parent: Cid | None) -> EventId:
        """Publish; where the topic has custom linking, linked to `parent`, which must be known here."""
        place = self.trees.place(topic)
        if not (place.subscribed or place.published):
            raise cannot_publish(self._node, topic)
        if parent is not None and parent not in place.history:
            raise UsageError(f"the parent of an event on {topic!r} is not known here; name an event that is")
        return self.publishing.publish(topic, payload, parent)

    # -- messages and timers --------------------------------------------------------------

    def receive(self, sender: NodeId, message: Message) -> None:
        match message:
            case Pub():
                self._on_pub(sender, message)
            case Given():
                self._on_given(sender, message)
            case Want():
                self._on_want(sender, message)
            case Ask():
                self.publishing.on_ask(sender, message)
            case Answer():
                self.publishing.on_answer(message)
            case _:
                if not self.dht.receive(sender, message) and not self.trees.receive(sender, message):
                    raise PeerError(f"node {sender} sent a {message.kind}, which Pulsarcast does not know")

    def timer(self, key: TimerKey) -> None:
        if isinstance(key, FetchTimer):
            self._fetch(self.trees.place(key.topic))
        elif not (self.dht.timer(key) or self.trees.timer(key) or self.publishing.timer(key)):
            raise AssertionError(f"Pulsarcast sets no timer {key!r}")

    # -- events ---------------------------------------------------------------------------

    def _on_pub(self, sender: NodeId, pub: Pub) -> None:
        place = self.trees.places.get(pub.topic)
        if place is None or not self.trees.hear(place, sender):
            self._host.count("event from a stranger")
            return
        self._take(place, sender, (pub.carried,))

    def _take(self, place: Place, sender: NodeId | None, events: Iterable[Carried]) -> None:
        """Take events in and pass on what is settled by them."""
        history, now_us = place.history, self._host.now()
        for carried in events:
            cid = carried.cid
            ready = history.take(carried, now_us, sender)
            for record in ready:
                source = sender if record.carried.cid == cid else place.sources.pop(record.carried.cid, None)
                self._pass_on(place, record, source)
            if not ready and sender is not None and history.waits(cid):
                place.sources.setdefault(cid, sender)
        if history.lacks:
            self._set_fetch_timer(place)

    def _pass_on(self, place: Place, record: Record, sender: NodeId | None) -> None:
        if place.subscribed:
            self._host.deliver(record.event(place.topic, place.history.records))
        carried = record.carried
        message = Pub(place.topic, carried.id, carried)
        send = self._host.send
        for neighbour in place.neighbours():
            if neighbour != sender:
                send(neighbour, message)

    def on_published(self, place: Place, record: Record) -> None:
        place.history.own = record.carried.cid
        for each in place.history.add(record, self._host.now(), None):
            self._pass_on(place, each, None)

    # -- eventual delivery ----------------------------------------------------------------

    def on_standing(self, place: Place) -> None:
        place.history.revive()
        if place.subscribed:
            self.dht.when_ready(lambda: self._provide(place))
        self.publishing.go_on()

    def _provide(self, place: Place) -> None:
        """Say that this node is a member, and keep the topic findable when its author is gone."""
        if place.subscribed and place.descriptor is not None:
            self.dht.provide(content_key(place.history.cid))
            self.dht.uphold(content_key(place.history.cid), Content(place.descriptor.encode()))

    def may_leave(self, place: Place) -> bool:
        """Not while only this node has what it has published, or is to publish."""
        return place.history.own is None and not self.publishing.has_left(place.topic)

    def on_heads(self, place: Place, neighbour: NodeId) -> None:
        if place.history.lacks:
            self._set_fetch_timer(place)

    def _set_fetch_timer(self, place: Place) -> None:
        if place.topic not in self._fetching:
            self._fetching.add(place.topic)
            self._host.set_timer(FetchTimer(place.topic), self._fetch_us)

    def _fetch(self, place: Place) -> None:
        """Ask for what is overdue: one neighbour after the other, and the DHT in its turn."""
        self._fetching.discard(place.topic)
        history = place.history
        overdue = history.overdue(self._host.now(), self._fetch_us)
        neighbours = place.neighbours()
        asked: dict[NodeId, list[Cid]] = {}
        sought = 0
        for cid, lack in overdue:
            source = lack.source(neighbours)
            if source is not None:
                asked.setdefault(source, []).append(cid)
            elif sought < DHT_FETCHES_MAX:
                sought += 1
                self._seek(place, cid)
        for source, cids in asked.items():
            self._want(place, source, cids)
        if history.is_fetching:
            self._set_fetch_timer(place)

    def _want(self, place: Place, source: NodeId, cids: Iterable[Cid]) -> None:
        self._host.count("event: fetched from a neighbour")
        want = Want(place.topic, self.trees.next_origin(), tuple(cids), place.history.heads())
        self._host.send(source, want)

    def _seek(self, place: Place, cid: Cid) -> None:
        self._host.count("event: fetched from the DHT")
        self.dht.find_value(content_key(cid), lambda lookup: self._sought(place, cid, lookup))

    def _sought(self, place: Place, cid: Cid, lookup: Lookup) -> None:
        for value in lookup.values:
            if isinstance(value, Content) and value.envelope and place.descriptor is not None:
                carried = carried_of(value, self._setup.nodes)
                if carried is not None and carried.cid == cid:
                    self._take(place, None, (carried,))
                    return
        key = content_key(place.history.cid)
        self.dht.find_value(key, lambda found: self._ask_member(place, cid, found), MEMBERS_SOUGHT)

    def _ask_member(self, place: Place, cid: Cid, lookup: Lookup) -> None:
        """Neighbours whose horizon hides an event have it no more than the DHT: another member may."""
        members = [each.node for each in lookup.values if isinstance(each, Provider)]
        others = [node for node in members if node != self._node]
        if others and cid not in place.history:
            self._want(place, self._host.random.choice(others), (cid,))

    def _on_want(self, sender: NodeId, want: Want) -> None:
        """Anybody may ask: what has been published is no secret."""
        place = self.trees.places.get(want.topic)
        if place is None:
            self._host.count("event wanted of another topic")
            return
        self.trees.hear(place, sender)
        found: list[Carried] = []
        for carried in place.history.before(want.events[:BATCH_MAX], want.known[:BATCH_MAX]):
            found.append(carried)
            if len(found) >= BATCH_MAX:
                break
        self._host.send(sender, Given(want.topic, want.origin, tuple(found)))

    def _on_given(self, sender: NodeId, given: Given) -> None:
        """Take in what was asked for, causes first, and ask at once for what it links to."""
        place = self.trees.places.get(given.topic)
        if place is None or place.descriptor is None:
            self._host.count("event from a stranger")
            return
        self.trees.hear(place, sender)
        known = dict.fromkeys(place.history.lacks)
        fresh = [carried for carried in given.events[:BATCH_MAX] if carried.cid not in place.history]
        self._take(place, sender, reversed(fresh))
        lacks = place.history.lacks
        further = [cid for cid in lacks if cid not in known][:BATCH_MAX]
        if fresh and further:
            for cid in further:
                lacks[cid].asked += 1
            self._want(place, sender, further)
