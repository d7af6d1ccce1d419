"""VCube-PB: reliable causal publish/subscribe that survives crashes (VCube-PB 2017, section 5).

An event goes down a tree that its publisher grows among the topic's fault-free
subscribers, and acknowledgements climb back. A parent that learns that a child has
crashed or left sends to the next fault-free subscriber of that child's cluster; who holds
the last event of a publisher that crashed hands it to that publisher's children. Who is
alive and who is subscribed comes from VCube (`detector`), which may be wrong for a while;
what trees then miss is repaired from the neighbours' logs (`topic_log`).
docs/protocols/vcube-pb.md maps the paper's functions, and tells what had to be mended.

Invariants:
- an event is delivered at most once in a life of a node, after all its predecessors;
- what a standing subscription has not delivered and not begun after (`Baseline`), every
  neighbour that has delivered it will offer, round after round, until it has it;
- on one topic, a publisher's events leave one at a time: the next when the last has been
  acknowledged by everybody who was not found to have crashed or left.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from itertools import islice
from math import ceil
from typing import NamedTuple

from treecast.core import (
    ID_BITS,
    AlreadySubscribedError,
    Event,
    EventId,
    Host,
    Machine,
    Message,
    NodeId,
    NotSubscribedError,
    PeerError,
    Source,
    TimerKey,
    Topic,
    UsageError,
    first_sequence,
)
from treecast.protocols.setup import Setup
from treecast.protocols.vcube.detector import Detector
from treecast.protocols.vcube.messages import Ack, Pub
from treecast.protocols.vcube.pb_messages import (
    Answer,
    Baseline,
    Digest,
    Heir,
    Join,
    Repair,
    Standing,
    Test,
    Vector,
    Want,
)
from treecast.protocols.vcube.settings import VCubePBSettings, rounds_bound
from treecast.protocols.vcube.topic_state import TopicState
from treecast.protocols.vcube.view import Members, is_member
from treecast.protocols.vcube.waves import Wave, Waves
from treecast.structures import hypercube

REPAIRS_MAX = 256
"""Events sent for one `Want`; what is left is asked for again in a later round."""

_RETRY: TimerKey = "retry"


class JoinTimer(NamedTuple):
    """Runs out when a subscriber that was asked where to begin has not answered."""

    topic: Topic


class VCubePB(Machine):
    """One node of VCube-PB."""

    def __init__(self, host: Host, node: NodeId, setup: Setup) -> None:
        settings = setup.settings
        assert isinstance(settings, VCubePBSettings), "the registry names the class of settings"
        self._host = host
        self._node = node
        self._settings = settings
        self._timeout_us = round(settings.timeout_ms * 1000)
        self._retry_us = round(settings.retry_ms * 1000)
        self._setup = setup
        self._bound = rounds_bound(len(setup.nodes))
        self._patience = max(self._bound, ceil(settings.patience_ms / settings.test_every_ms))  # in rounds
        self._sequence = first_sequence(host.life)  # a Lamport clock
        self._detector = Detector(host, node, setup.nodes, settings, self)
        self._round = 0
        self._waves = Waves()
        self._retry_set = False
        # What was passed on in a crashed publisher's stead, and in which round.
        self._inherited: dict[EventId, int] = {}
        self._views = {topic: Members(node, members) for topic, members in setup.subscribers.items()}
        self._topics: dict[Topic, TopicState] = {}

    # -- the application's side: algorithm 5.1 ----------------------------------------

    def start(self) -> None:
        for topic, members in self._setup.subscribers.items():
            if not is_member(self._node, members):
                continue
            if self._host.life:  # an earlier life was subscribed
                self._views[topic].set(self._node, False)
                continue
            state = self._state(topic)
            state.subscribed = state.joined = True
            self._host.joined(topic)
        self._detector.start()

    def subscribe(self, topic: Topic) -> None:
        state = self._state(topic)
        if state.subscribed:
            raise AlreadySubscribedError(
                f"node {self._node} is subscribed to {topic!r} already; unsubscribe first"
            )
        state.subscribed = True
        self._declare(state)
        state.candidates = None
        self._ask_next(state)

    def unsubscribe(self, topic: Topic) -> None:
        state = self._topics.get(topic)
        if state is None or not state.subscribed:
            raise NotSubscribedError(
                f"node {self._node} cannot unsubscribe from {topic!r}: it is not subscribed; subscribe first"
            )
        state.subscribed = state.joined = False
        state.causal.drop_waiting()
        state.held.clear()
        state.forget_lacking()
        self._declare(state)

    def register(self, topic: Topic) -> None:
        state = self._state(topic)
        if state.registered:
            raise UsageError(f"node {self._node} is registered on {topic!r} already; unregister first")
        state.registered = True
        self._declare(state)

    def unregister(self, topic: Topic) -> None:
        state = self._topics.get(topic)
        if state is None or not state.registered:
            raise UsageError(
                f"node {self._node} cannot unregister from {topic!r}: it is not registered; register first"
            )
        state.registered = False
        self._declare(state)

    def publish(self, topic: Topic, payload: bytes) -> EventId:
        state = self._topics.get(topic)
        if state is None or not (state.subscribed or state.registered):
            raise NotSubscribedError(
                f"node {self._node} cannot publish to {topic!r}: it is neither subscribed nor registered; "
                "subscribe or register first"
            )
        identity = EventId(self._node, self._sequence)
        self._sequence += 1
        event = Event(identity, topic, state.causal.publish(identity), payload)
        self._host.published(event)
        state.log.add(event)
        if state.subscribed:
            self._host.deliver(event)
        state.queue.append(event)
        self._start_broadcast(state)
        return identity

    def _state(self, topic: Topic) -> TopicState:
        state = self._topics.get(topic)
        if state is None:
            state = self._topics[topic] = TopicState(topic, self._settings.keep_events, self._host.life)
        return state

    def _declare(self, state: TopicState) -> None:
        state.left_round = None if state.subscribed or state.registered else self._round
        self._view(state.topic).set(self._node, state.subscribed)
        self._detector.declare(state.topic, subscriber=state.subscribed, publisher=state.registered)

    # -- the tree: algorithm 5.2 ------------------------------------------------------

    def receive(self, sender: NodeId, message: Message) -> None:
        match message:
            case Ack():
                self._on_ack(sender, message)
            case Pub():
                self._on_pub(sender, message)
            case Test():
                self._detector.on_test(sender, message)
            case Answer():
                self._detector.on_answer(sender, message)
            case Digest():
                self._on_digest(sender, message)
            case Want():
                self._on_want(sender, message)
            case Repair():
                self._take_in(message.event)
            case Heir():
                self._on_heir(message)
            case Join():
                self._on_join(sender, message)
            case Baseline():
                self._on_baseline(message)
            case _:
                raise PeerError(f"node {sender} sent a {message.kind}, which VCube-PB does not know")

    def timer(self, key: TimerKey) -> None:
        if self._detector.timer(key):
            return
        if key == _RETRY:
            self._retry()
        elif isinstance(key, JoinTimer):
            self._ask_next(self._topics[key.topic])
        else:
            raise AssertionError(f"VCube-PB sets no timer {key!r}")

    def _start_broadcast(self, state: TopicState) -> None:
        """Task T1: send the queued events, each when the one before is acknowledged by all."""
        while state.queue and state.running is None:
            event = state.queue.popleft()
            children = self._view(state.topic).children(ID_BITS)
            if children:
                state.running = event.id
                self._propagate(None, event, children)

    def _on_pub(self, sender: NodeId, pub: Pub) -> None:
        event = pub.event
        if not self._waves.holds(event.id, sender):  # else it was sent again, and is being passed on
            self._propagate(sender, event, self._view(event.topic).children_behind(sender))
        self._take_in(event)

    def _propagate(self, parent: NodeId | None, event: Event, children: tuple[NodeId, ...]) -> None:
        """Pass on to this node's part of a tree, and acknowledge when all of it has."""
        wave = Wave(event, parent, list(children), self._host.now())
        if not children:
            self._end_wave(wave)
            return
        self._waves.add(wave)
        message = Pub(event)
        for child in children:
            self._host.send(child, message)
        self._set_retry()

    def _on_ack(self, sender: NodeId, ack: Ack) -> None:
        for wave in self._waves.acknowledged(ack.origin, sender):
            self._end_wave(wave)

    def _end_wave(self, wave: Wave) -> None:
        """All who are behind this node in the tree have the event (CHECKACKS)."""
        event = wave.event
        if wave.parent is not None:
            self._host.send(wave.parent, Ack(event.topic, event.id, ()))
            return
        state = self._topics.get(event.topic)
        if state is not None and state.running == event.id:
            state.running = None
            self._start_broadcast(state)

    def _set_retry(self) -> None:
        if not self._retry_set:
            self._retry_set = True
            self._host.set_timer(_RETRY, self._retry_us)

    def _retry(self) -> None:
        """Send again what has not been acknowledged for long: the network may have lost it."""
        self._retry_set = False
        sent_before_us = self._host.now() - self._retry_us
        for wave in self._waves:
            if wave.sent_us <= sent_before_us:
                wave.sent_us = self._host.now()
                for child in wave.pending:
                    self._host.send(child, Pub(wave.event))
        if self._waves:
            self._set_retry()

    # -- crashes and memberships: algorithm 5.3, CHECKLEAVE ---------------------------

    def on_lost(self, node: NodeId, life: int) -> None:
        for view in self._views.values():
            view.set(node, False)
        self._replace(node, None)
        for state in self._topics.values():
            state.log.forget_neighbour(node)
            last = state.log.recent(Source(node, life), self._bound)
            if last is not None:
                self._inherit(last)

    def on_found(self, node: NodeId) -> None:
        for topic, view in self._views.items():
            view.set(node, self._is_subscribed(node, topic))
        for state in self._topics.values():
            state.notice_again(self._round)  # it may have what is lacking here
            state.stay(self._round)  # and need what only this node has, though it has left

    def on_standing(self, standing: Standing) -> None:
        view = self._view(standing.topic)
        if not self._detector.is_suspected(standing.node):
            view.set(standing.node, standing.subscriber)
        if not standing.subscriber:
            self._replace(standing.node, standing.topic)

    def _view(self, topic: Topic) -> Members:
        """The fault-free subscribers of a topic, as this node knows them."""
        view = self._views.get(topic)
        if view is None:
            view = self._views[topic] = Members(self._node)
        return view

    def _is_subscribed(self, node: NodeId, topic: Topic) -> bool:
        standing = self._detector.standing(node, topic)
        if standing is not None:
            return standing.subscriber
        at_first = self._setup.subscribers.get(topic, ())
        return self._detector.life_of(node) == 0 and is_member(node, at_first)

    def _may_return(self, topic: Topic) -> bool:
        """Whether a subscriber is suspected, who may be alive and lack something."""
        return any(self._is_subscribed(node, topic) for node in self._detector.suspects)

    def _replace(self, child: NodeId, topic: Topic | None) -> None:
        """In all trees (of a topic) send to the next subscriber in the cluster of `child`."""
        s = hypercube.cluster(self._node, child)
        for wave in self._waves.awaiting(child, topic):
            following = hypercube.first_member(self._node, s, self._view(wave.event.topic).members)
            if following is not None and following not in wave.pending:
                wave.pending.append(following)
                self._host.send(following, Pub(wave.event))
            if self._waves.settle(wave, child):
                self._end_wave(wave)

    def _inherit(self, event: Event) -> None:
        """The publisher crashed, perhaps before all its children had the event: send it to them."""
        heirs = hypercube.children(event.id.publisher, self._view(event.topic).members, ID_BITS)
        for heir in heirs:
            if heir == self._node:
                self._pass_on_as_heir(event)
            else:
                self._host.send(heir, Heir(event))

    def _on_heir(self, message: Heir) -> None:
        self._pass_on_as_heir(message.event)
        self._take_in(message.event)

    def _pass_on_as_heir(self, event: Event) -> None:
        """Pass on as the publisher's child; once, though all who hold the event may send it."""
        if event.id not in self._inherited:
            self._inherited[event.id] = self._round
            self._propagate(None, event, self._view(event.topic).children_behind(event.id.publisher))

    # -- delivery ---------------------------------------------------------------------

    def _take_in(self, event: Event) -> None:
        state = self._topics.get(event.topic)
        if state is None or not state.subscribed:
            return
        if not state.joined:
            state.held[event.id] = event
        elif not state.causal.has(event.id):
            self._deliver(state, state.causal.receive(event))

    def _deliver(self, state: TopicState, ready: Sequence[Event]) -> None:
        for event in ready:
            behind = event.id.counter + 1 - EventId(self._node, self._sequence).counter
            if behind > 0:  # Lamport: what is published next comes later
                self._sequence += behind
            state.log.add(event)
            self._host.deliver(event)

    # -- joining ----------------------------------------------------------------------

    def _ask_next(self, state: TopicState) -> None:
        """Ask one subscriber after the other where to begin; who finds none begins with everything."""
        if not state.subscribed or state.joined:
            return
        if self._host.life and not self._detector.answers and not self._detector.is_alone():
            state.candidates = None  # what stood at the beginning of the network may be long past
            self._host.set_timer(JoinTimer(state.topic), self._timeout_us)
            return
        view = self._view(state.topic)
        if state.candidates is None:
            state.candidates = deque(view.children(ID_BITS))
        while state.candidates:
            candidate = state.candidates.popleft()
            if candidate in view:
                self._host.send(candidate, Join(state.topic))
                self._host.set_timer(JoinTimer(state.topic), self._timeout_us)
                return
        self._begin_after(state, ())

    def _on_join(self, sender: NodeId, join: Join) -> None:
        state = self._topics.get(join.topic)
        known = state is not None and state.joined
        self._host.send(sender, Baseline(join.topic, state.vector if state and known else None))

    def _on_baseline(self, baseline: Baseline) -> None:
        state = self._topics.get(baseline.topic)
        if state is None or not state.subscribed:
            return
        if state.joined:
            if baseline.vector is not None and state.cut is None and self._overdue(state):
                state.cut = baseline.vector, self._round
                state.compare(baseline.vector, self._round)
        elif baseline.vector is None:
            self._ask_next(state)
        else:
            self._begin_after(state, baseline.vector)

    def _begin_after(self, state: TopicState, vector: Vector) -> None:
        """The subscription stands: whatever is not in `vector` will be delivered."""
        self._host.cancel_timer(JoinTimer(state.topic))
        ready = state.causal.skip_to(state.leave_out(vector))
        state.joined = True
        state.forget_lacking()
        self._host.joined(state.topic)
        self._deliver(state, ready)
        held, state.held = state.held, {}
        for event in held.values():
            self._take_in(event)

    # -- repair -----------------------------------------------------------------------

    def on_round(self) -> None:
        self._round += 1
        past = self._round - self._bound
        self._inherited = {event: begun for event, begun in self._inherited.items() if begun >= past}
        for state in self._topics.values():
            state.log.begin_round()
            if state.running is not None:
                state.stay(self._round)  # what it published before it left is still on its way
            if state.left_round is not None and state.left_round < past and not self._may_return(state.topic):
                state.retire()  # who needed what is kept here has had time to ask
            else:
                self._tell_next(state)
                self._ask_members(state)
                self._give_up(state)

    def _tell_next(self, state: TopicState) -> None:
        if state.subscribed and not state.joined:
            return
        log = state.log
        neighbour = log.next_to_tell(self._view(state.topic).children(ID_BITS))
        if neighbour is not None:
            news = log.news_for(neighbour)
            self._host.send(neighbour, Digest(state.topic, self._host.life, log.version, news))

    def _ask_members(self, state: TopicState) -> None:
        """Ask other members, each round some, for what those who told of it could not send.

        They have begun after it themselves, and a neighbour that has it there may be none.
        """
        after = state.lacking(self._round - 1) if state.joined else ()
        if not after:
            return
        others = [member for member in self._view(state.topic).members if member != self._node]
        count = ceil(2 * len(others) / self._bound)  # everybody twice before it is given up
        begin = self._round * count + bisect_left(others, self._node)
        want = Want(state.topic, self._host.life, 0, after)
        for place in range(begin, begin + min(count, len(others))):
            self._host.send(others[place % len(others)], want)

    def _on_digest(self, sender: NodeId, digest: Digest) -> None:
        """Say what is missing. Only a standing subscription answers: it never loses what it has."""
        state = self._topics.get(digest.topic)
        if state is None or not state.joined:
            return
        after = state.compare(digest.vector, self._round)
        if digest.life == self._detector.life_of(sender):
            state.log.note_heard(sender, digest.vector)
        self._host.send(sender, Want(digest.topic, self._host.life, digest.version, after))

    def _on_want(self, sender: NodeId, want: Want) -> None:
        state = self._topics.get(want.topic)
        if state is None or want.life != self._detector.life_of(sender):
            return
        after = dict(want.after)
        if not after:
            state.log.note_told(sender, want.version)
            return
        if not state.log.has_all_after(after):
            # Somebody else may have it all; if nobody has, the asker takes this in the end.
            self._host.send(sender, Baseline(state.topic, state.vector))
        for event in islice(state.log.events_after(after), REPAIRS_MAX):
            self._host.send(sender, Repair(event))

    def _overdue(self, state: TopicState) -> Vector:
        """Above which numbers something has been missing for longer than anybody alive needs to send it."""
        return state.lacking(self._round - self._patience)

    def _give_up(self, state: TopicState) -> None:
        """Do without what no member has sent in all this time: only the dead had it."""
        if state.cut is None or self._round - state.cut[1] <= self._bound:
            return
        vector, _ = state.cut
        state.cut = None
        if self._overdue(state):
            self._deliver(state, state.causal.give_up(state.leave_out(vector)))
