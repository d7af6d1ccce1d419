"""Dissemination trees: a node's place in each topic's tree (Pulsarcast, section 3, algorithm 2).

A node joins below the peer of its k-buckets that is closest to the topic's author, which joins
in its turn, up to the author. Beyond the paper: the parent must be strictly closer than the
child, so no join can go around; a node that knows nobody closer looks the author's place up;
who finds nobody closer alive is the root, be it the author or not, and goes on looking.
Parent and child tell each other at every beat that they are there, and what they have.
A node that leaves names its parent to its children.

Invariants:
- along links the distance to the author's place falls strictly, so at no time is there a cycle;
- a node welcomes children only while it has a place itself: hanging below another, or a root;
- a node that is neither subscribed, a publisher, a root, nor anybody's parent has no place.
"""

from dataclasses import dataclass
from typing import Protocol

from treecast.core import EventId, Host, Message, NodeId, PeerError, TimerKey, Topic
from treecast.protocols.pulsarcast.cids import dht_key
from treecast.protocols.pulsarcast.descriptors import decode_topic
from treecast.protocols.pulsarcast.dht_messages import Content, content_key
from treecast.protocols.pulsarcast.history import History
from treecast.protocols.pulsarcast.kademlia import Kademlia
from treecast.protocols.pulsarcast.lookup import Lookup
from treecast.protocols.pulsarcast.messages import (
    Beat,
    BeatBack,
    Join,
    Leave,
    Refuse,
    Wait,
    Welcome,
)
from treecast.protocols.pulsarcast.places import Place, State
from treecast.protocols.pulsarcast.settings import PulsarcastSettings
from treecast.protocols.pulsarcast.topics import TopicBook, distance

JOIN_TRIES_MAX = 3
"""Joins sent to one peer without an answer before another is tried (the paper's bounded retry)."""
BEATS_MISSED_MAX = 3
SHUNNED_BEATS = 6
"""For so many beats a peer that did not answer is not tried again."""
_LIFE_BITS = 40


@dataclass(frozen=True, slots=True)
class JoinTimer:
    """Runs out when a join has not been answered, or a search shall be begun again."""

    topic: Topic


@dataclass(frozen=True, slots=True)
class BeatTimer:
    """Runs out at each beat of this node."""


class Listener(Protocol):
    """Who wants to know about places."""

    def on_standing(self, place: Place) -> None:
        """The node has got a place."""

    def may_leave(self, place: Place) -> bool:
        """Whether this node need not stay for others' sake."""
        ...

    def on_heads(self, place: Place, neighbour: NodeId) -> None:
        """A neighbour has told what it has."""


class Trees:
    """One node's places in all trees."""

    def __init__(
        self,
        host: Host,
        node: NodeId,
        settings: PulsarcastSettings,
        dht: Kademlia,
        book: TopicBook,
        listener: Listener,
    ) -> None:
        self._host = host
        self._node = node
        self._settings = settings
        self._dht = dht
        self._book = book
        self._listener = listener
        self._beat_us = round(settings.beat_ms * 1000)
        self._said = host.life << _LIFE_BITS
        self._beating = False
        self.places: dict[Topic, Place] = {}

    def place(self, topic: Topic) -> Place:
        found = self.places.get(topic)
        if found is None:
            history = History(topic, self._book.cid(topic), self._host.count)
            found = self.places[topic] = Place(topic, history)
        return found

    def next_origin(self) -> EventId:
        self._said += 1
        return EventId(self._node, self._said)

    # -- joining --------------------------------------------------------------------------

    def enter(self, place: Place) -> None:
        """Get a place, unless there is one."""
        if place.state is State.OUT:
            place.state = State.SEEKING
            self._start_beating()
            self._begin(place)

    def _begin(self, place: Place) -> None:
        if place.descriptor is not None:
            self._seek(place)
            return
        key = content_key(place.history.cid)
        self._dht.when_ready(lambda: self._dht.find_value(key, lambda lookup: self._found(place, lookup)))

    def _found(self, place: Place, lookup: Lookup) -> None:
        """The DHT has the topic's descriptor, or not yet."""
        for value in lookup.values:
            if place.descriptor is None and isinstance(value, Content):
                self.learn(place, value.data)
        if place.descriptor is not None:
            self._seek(place)
        elif place.state is State.SEEKING:
            self._host.count("topic not found")
            self._set_join_timer(place)

    def learn(self, place: Place, data: bytes) -> None:
        """Take in the topic's descriptor; raise `PeerError` when it is not that."""
        descriptor = decode_topic(data, place.history.cid)
        place.descriptor = place.history.descriptor = descriptor
        place.key = dht_key(descriptor.author)

    def _seek(self, place: Place) -> None:
        """Ask the closest peer that is known locally; without one, look for it."""
        if place.state is not State.SEEKING:
            return
        own = distance(self._node, place.key)
        if not own:
            self._become_root(place)
            return
        for contact in self._dht.table.closest(place.key, self._settings.k):
            if contact.key ^ place.key >= own:
                break
            if not self._is_shunned(place, contact.node):
                self._ask(place, contact.node)
                return
        self._dht.find_nodes(place.key, lambda lookup: self._looked_up(place, lookup))

    def _looked_up(self, place: Place, lookup: Lookup) -> None:
        own = distance(self._node, place.key)
        for node in lookup.nearest:
            if distance(node, place.key) >= own:
                break
            if not self._is_shunned(place, node):
                if place.state in {State.SEEKING, State.ROOT}:
                    self._ask(place, node)
                return
        if place.state is State.SEEKING:
            self._become_root(place)

    def _ask(self, place: Place, candidate: NodeId) -> None:
        assert place.descriptor is not None
        if candidate != place.candidate:
            place.candidate, place.tries = candidate, 0
        place.tries += 1
        place.asked = self.next_origin()
        heads = place.history.heads()
        self._host.send(candidate, Join(place.topic, place.asked, place.descriptor.encode(), heads))
        self._set_join_timer(place)

    def _set_join_timer(self, place: Place) -> None:
        self._host.set_timer(JoinTimer(place.topic), round(self._settings.join_timeout_ms * 1000))

    def _on_join_timer(self, place: Place) -> None:
        candidate = place.candidate
        if place.state in {State.OUT, State.HANGING}:
            return
        if candidate is not None and place.tries >= JOIN_TRIES_MAX:
            self._shun(place, candidate)
            self._dht.forget(candidate)
        if place.state is State.SEEKING:
            self._begin(place)

    def _shun(self, place: Place, peer: NodeId) -> None:
        place.shunned_us[peer] = self._host.now() + SHUNNED_BEATS * self._beat_us
        if peer == place.candidate:
            place.candidate = place.asked = None

    def _is_shunned(self, place: Place, peer: NodeId) -> bool:
        until_us = place.shunned_us.get(peer)
        if until_us is None:
            return False
        if until_us > self._host.now():
            return True
        del place.shunned_us[peer]
        return False

    def make_root(self, place: Place) -> None:
        """The author, which has made the topic, is the root of its tree."""
        place.state = State.SEEKING
        self._start_beating()
        self._become_root(place)

    def _become_root(self, place: Place) -> None:
        place.state, place.parent, place.candidate = State.ROOT, None, None
        self._host.cancel_timer(JoinTimer(place.topic))
        if place.history.horizon is None:
            place.history.horizon = {}  # from here on all is owed to it, also what another root has seen
        self._host.hangs(place.topic, None)
        self._stand(place)

    def _stand(self, place: Place) -> None:
        """The node has a place now: those who wait for one below it have one, too."""
        for child, join in place.waiting.items():
            self._welcome(place, child, join)
        place.waiting.clear()
        if place.subscribed and not place.told_joined:
            place.told_joined = True
            self._host.joined(place.topic)
        self._listener.on_standing(place)

    def _welcome(self, place: Place, child: NodeId, join: EventId) -> None:
        history = place.history
        self._host.send(child, Welcome(place.topic, join, history.heads(), history.seen_ids()))

    # -- losing a parent, and leaving -----------------------------------------------------

    def _lose_parent(self, place: Place) -> None:
        """Go through the joining again; the children stay."""
        place.parent = place.candidate = None
        place.state = State.SEEKING
        self._host.cut_off(place.topic)
        self._begin(place)

    def leave_if_unwanted(self, place: Place) -> None:
        """A forwarder for nobody leaves; a root stays, as the place is its own."""
        if not place.wanted and place.state in {State.HANGING, State.SEEKING}:
            self._leave(place)

    def hand_on_and_leave(self, place: Place) -> None:
        """The application is not interested any more: name the parent to the children, and go.

        Not before somebody else has what this node has published, though.
        """
        place.leaving = not place.published and place.state is not State.ROOT
        if not place.leaving or not self._listener.may_leave(place):
            return
        place.leaving = False
        for child in place.children:
            self._host.send(child, Leave(place.topic, self.next_origin(), place.parent))
        place.children.clear()
        self._leave(place)

    def _leave(self, place: Place) -> None:
        if place.parent is not None:
            self._host.send(place.parent, Leave(place.topic, self.next_origin(), None))
            self._host.cut_off(place.topic)
        self._host.cancel_timer(JoinTimer(place.topic))
        place.parent = place.candidate = place.asked = None
        place.state = State.OUT
        place.waiting.clear()

    # -- messages -------------------------------------------------------------------------

    def receive(self, sender: NodeId, message: Message) -> bool:
        """Whether it was about the trees' links."""
        match message:
            case Join():
                self._on_join(sender, message)
            case Welcome():
                self._on_welcome(sender, message)
            case Wait():
                self._on_wait(sender, message)
            case Refuse():
                self._on_refuse(sender, message)
            case Leave():
                self._on_leave(sender, message)
            case Beat():
                self._on_beat(sender, message)
            case BeatBack():
                self._on_beat_back(sender, message)
            case _:
                return False
        return True

    def hear(self, place: Place, sender: NodeId) -> bool:
        """Note that a neighbour is there; False when the sender is none."""
        if sender == place.parent:
            place.heard_us = self._host.now()
        elif sender in place.children:
            place.children[sender] = self._host.now()
        else:
            return False
        return True

    def _on_join(self, sender: NodeId, join: Join) -> None:
        place = self.place(join.topic)
        if place.descriptor is None:
            try:
                self.learn(place, join.descriptor)
            except PeerError:
                self._host.count("join refused: bad descriptor")
                return
        if distance(self._node, place.key) >= distance(sender, place.key):
            self._host.count("join refused: not closer to the author")
            self._host.send(sender, Refuse(join.topic, join.origin))
            return
        place.children[sender] = self._host.now()
        if place.standing:
            self._welcome(place, sender, join.origin)
        else:
            place.waiting[sender] = join.origin
            self._host.send(sender, Wait(join.topic, join.origin))
            self.enter(place)
        place.history.note_heads(join.heads, self._host.now(), sender)
        self._listener.on_heads(place, sender)

    def _on_welcome(self, sender: NodeId, welcome: Welcome) -> None:
        place = self.place(welcome.topic)
        if welcome.origin != place.asked or sender != place.candidate:
            if place.parent != sender:
                self._host.send(sender, Leave(place.topic, self.next_origin(), None))
            return
        place.asked, place.tries, place.candidate = None, 0, None
        place.parent, place.heard_us, place.state = sender, self._host.now(), State.HANGING
        self._host.cancel_timer(JoinTimer(place.topic))
        self._host.hangs(place.topic, sender)
        history = place.history
        if self._settings.history == "new" and history.horizon is None and not len(history):
            history.begin_at(welcome.heads, welcome.seen)
        else:
            history.note_heads(welcome.heads, self._host.now(), sender)
        self._stand(place)
        self._listener.on_heads(place, sender)

    def _on_wait(self, sender: NodeId, wait: Wait) -> None:
        """It is alive and will welcome this node in the end; ask again, in case that gets lost."""
        place = self.place(wait.topic)
        if wait.origin == place.asked:
            place.tries = 0

    def _on_refuse(self, sender: NodeId, refuse: Refuse) -> None:
        place = self.place(refuse.topic)
        if refuse.origin == place.asked:
            self._shun(place, sender)
            if place.state is State.SEEKING:
                self._seek(place)
        elif sender == place.parent:
            self._lose_parent(place)

    def _on_leave(self, sender: NodeId, leave: Leave) -> None:
        place = self.place(leave.topic)
        if sender == place.parent:
            place.parent = None
            place.state = State.SEEKING
            self._host.cut_off(place.topic)
            self._shun(place, sender)
            heir = leave.heir
            if heir is not None and distance(heir, place.key) < distance(self._node, place.key):
                self._ask(place, heir)
            else:
                self._begin(place)
        elif sender in place.children:
            self._drop_child(place, sender)

    def _drop_child(self, place: Place, child: NodeId) -> None:
        place.children.pop(child, None)
        place.waiting.pop(child, None)
        self.leave_if_unwanted(place)

    # -- beats ----------------------------------------------------------------------------

    def _start_beating(self) -> None:
        if not self._beating:
            self._beating = True
            self._host.set_timer(BeatTimer(), 1 + self._host.random.randrange(self._beat_us))

    def _beat(self) -> None:
        now_us = self._host.now()
        for place in list(self.places.values()):
            if place.leaving:
                self.hand_on_and_leave(place)
            if place.state is State.OUT:
                continue
            silent_us = now_us - (BEATS_MISSED_MAX + 1) * self._beat_us
            for child in [child for child, heard_us in place.children.items() if heard_us < silent_us]:
                self._host.count("child lost")
                self._drop_child(place, child)
            if place.state is State.HANGING and place.parent is not None:
                if now_us - place.heard_us > BEATS_MISSED_MAX * self._beat_us:
                    self._host.count("parent lost")
                    self._shun(place, place.parent)
                    self._dht.forget(place.parent)
                    self._lose_parent(place)
                else:
                    beat = Beat(place.topic, self.next_origin(), place.history.heads())
                    self._host.send(place.parent, beat)
            elif place.state is State.ROOT:
                self._look_for_closer(place)
        self._host.set_timer(BeatTimer(), self._beat_us)

    def _look_for_closer(self, place: Place) -> None:
        """There may be another root that cannot be found from here, or one that cannot find this one."""
        self._dht.find_nodes(place.key, lambda lookup: self._looked_up(place, lookup), by_seeds=True)

    def _on_beat(self, sender: NodeId, beat: Beat) -> None:
        place = self.place(beat.topic)
        if sender not in place.children:
            self._host.send(sender, Refuse(beat.topic, beat.origin))
            return
        place.children[sender] = self._host.now()
        place.history.note_heads(beat.heads, self._host.now(), sender)
        self._host.send(sender, BeatBack(beat.topic, beat.origin, place.history.heads()))
        self._listener.on_heads(place, sender)

    def _on_beat_back(self, sender: NodeId, back: BeatBack) -> None:
        place = self.place(back.topic)
        if sender == place.parent:
            place.heard_us = self._host.now()
            place.history.note_heads(back.heads, self._host.now(), sender)
            self._listener.on_heads(place, sender)

    def timer(self, key: TimerKey) -> bool:
        """Whether it was one of the trees' timers."""
        match key:
            case JoinTimer(topic):
                self._on_join_timer(self.place(topic))
            case BeatTimer():
                self._beat()
            case _:
                return False
        return True
