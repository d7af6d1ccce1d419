"""Publishing: what waits, what is under way, and what is asked of others (section 3, algorithms 3 and 4).

An event is linked, signed and passed on into the tree, and stored in the DHT at the same time; to
the application it counts as published when it is stored. How many are under way at a time
is bounded by a window, which grows by one a window while all in the DHT answer and halves when
some do not: so a network that has more to do than it can is given less.

Who may not publish asks: the request goes up the tree to the first who may, who publishes it
in its own name and answers the author. A request is sent again when no answer comes; who has
published it knows, and answers the same.

Invariants:
- what one application publishes on a topic itself leaves in that order;
- no more than the window is being stored, no more than `requests_max` requests await answers;
- every publication is answered once: accepted when at least one node keeps it, or given up.
"""

from collections import deque
from dataclasses import dataclass
from typing import Protocol

from treecast.core import EventId, Host, NodeId, PeerError, TimerKey, Topic, UsageError, first_sequence
from treecast.protocols.pulsarcast.cids import Cid
from treecast.protocols.pulsarcast.descriptors import EventDescriptor, EventLinking, decode_event
from treecast.protocols.pulsarcast.dht_messages import Content, content_key
from treecast.protocols.pulsarcast.envelope import is_requested, request_signature, seal
from treecast.protocols.pulsarcast.identity import Identity
from treecast.protocols.pulsarcast.kademlia import Kademlia
from treecast.protocols.pulsarcast.messages import Answer, Ask, Carried
from treecast.protocols.pulsarcast.places import Place, State
from treecast.protocols.pulsarcast.records import Record, read_record
from treecast.protocols.pulsarcast.settings import PulsarcastSettings
from treecast.protocols.pulsarcast.topics import stamp
from treecast.protocols.pulsarcast.trees import Trees

WINDOW_FIRST = 4.0
STORE_TRIES_MAX = 5
ASK_TRIES_MAX = 5
ANSWERS_KEPT_MAX = 100_000
TIMED_OUT, NOT_ALLOWED, NO_PUBLISHER, BUSY = "timed out", "not allowed", "no publisher reached", "busy"


@dataclass(frozen=True, slots=True)
class AskTimer:
    """Runs out when a request has not been answered."""

    request: EventId


@dataclass(frozen=True, slots=True)
class StoreTimer:
    """Runs out when an event that nobody keeps is to be stored again."""

    cid: Cid


@dataclass(slots=True)
class Job:
    """Something to be published."""

    request: EventId
    author: NodeId
    payload: bytes
    parent: Cid | None = None  # chosen by the application
    asked: EventDescriptor | None = None  # somebody else's, as he asked for it ...
    signature: bytes = b""  # ... and signed it
    tries: int = 0


@dataclass(slots=True)
class Storing:
    """An event that is being stored."""

    topic: Topic
    job: Job
    record: Record
    unanswered: int
    """How many requests nobody had answered when it began."""
    tries: int = 0


class Listener(Protocol):
    """Who passes events on."""

    def on_published(self, place: Place, record: Record) -> None:
        """This node has made an event: deliver it and pass it on."""


class Publishing:
    """What one node publishes."""

    def __init__(
        self,
        host: Host,
        node: NodeId,
        identity: Identity,
        settings: PulsarcastSettings,
        trees: Trees,
        dht: Kademlia,
        listener: Listener,
    ) -> None:
        self._host = host
        self._node = node
        self._identity = identity
        self._settings = settings
        self._trees = trees
        self._dht = dht
        self._listener = listener
        self._requests = first_sequence(host.life)
        self._sequence = first_sequence(host.life)
        self._queues: dict[Topic, deque[Job]] = {}
        self._waiting = 0
        self._window = WINDOW_FIRST
        self._slowed = 0  # how many requests nobody had answered when the window was halved last
        self._storing: dict[Cid, Storing] = {}
        self._asked: dict[EventId, tuple[Topic, Job]] = {}
        self._answers: dict[EventId, Answer | None] = {}  # to whom has asked; None: in work

    # -- the application's side -----------------------------------------------------------

    def publish(self, topic: Topic, payload: bytes, parent: Cid | None) -> EventId:
        if self._waiting >= self._settings.queue_max:
            raise UsageError(
                f"node {self._node} has {self._waiting} events that wait to be published; "
                "wait for answers, or raise queue_max"
            )
        request = EventId(self._node, self._requests)
        self._requests += 1
        self._enter(topic, Job(request, self._node, payload, parent))
        return request

    def _enter(self, topic: Topic, job: Job) -> None:
        self._queues.setdefault(topic, deque()).append(job)
        self._waiting += 1
        self.go_on()

    def go_on(self) -> None:
        """Begin what may be begun, a topic after the other in turns."""
        busy = True
        while busy and self._waiting:
            busy = False
            for topic, queue in self._queues.items():
                if queue and self._begin_first(topic, queue):
                    busy = True

    def has_left(self, topic: Topic) -> bool:
        """Whether something waits to be published there, or awaits its answer."""
        return bool(self._queues.get(topic)) or any(topic == of for of, _ in self._asked.values())

    def _begin_first(self, topic: Topic, queue: deque[Job]) -> bool:
        place = self._trees.place(topic)
        if not place.standing or place.descriptor is None:
            return False
        own = queue[0].asked is None
        if place.descriptor.may_publish(self._identity.peer):
            if len(self._storing) >= int(self._window):
                return False
            self._waiting -= 1
            self._publish(place, queue.popleft())
        elif not place.descriptor.may_request(self._identity.peer) or not own:
            self._waiting -= 1
            self._answer(topic, queue.popleft(), None, NOT_ALLOWED)
        elif len(self._asked) >= self._settings.requests_max or place.parent is None:
            return False
        else:
            self._waiting -= 1
            self._ask(place, queue.popleft())
        return True

    # -- publishing -----------------------------------------------------------------------

    def _publish(self, place: Place, job: Job) -> None:
        """Link, sign, pass on and store."""
        history, now_us = place.history, self._host.now()
        assert place.descriptor is not None
        parent = history.last
        if place.descriptor.event_linking is EventLinking.CUSTOM:
            parent = job.parent
        asked = job.asked
        descriptor = EventDescriptor(
            topic=history.cid,
            author=self._identity.peer if asked is None else asked.author,
            payload=job.payload,
            created=stamp(now_us) if asked is None else asked.created,
            publisher=self._identity.peer,
            parent=parent,
        )
        by_another = descriptor.author != descriptor.publisher
        envelope = seal(
            descriptor,
            sequence=self._sequence,
            parents=history.parents_for_new(),
            publisher=self._identity,
            author_signature=job.signature if by_another else b"",
        )
        event = EventId(self._node, self._sequence)
        self._sequence += 1
        carried = Carried(event, envelope.event, descriptor.encode(), envelope.encode())
        record = read_record(carried)
        self._storing[carried.cid] = storing = Storing(place.topic, job, record, self._dht.unanswered)
        self._host.published(record.event(place.topic, history.records))
        self._listener.on_published(place, record)
        self._store(storing)

    def _store(self, storing: Storing) -> None:
        carried = storing.record.carried
        storing.tries += 1
        self._dht.store(
            content_key(carried.cid),
            Content(carried.data, carried.envelope),
            lambda kept: self._stored(storing, kept),
        )

    def _stored(self, storing: Storing, kept: int) -> None:
        if self._dht.unanswered > max(storing.unanswered, self._slowed):  # for the first time since it began
            self._slowed = self._dht.unanswered
            self._window = max(1.0, self._window / 2)
        else:
            self._window = min(float(self._settings.window_max), self._window + 1 / self._window)
        cid = storing.record.carried.cid
        if not kept and storing.tries < STORE_TRIES_MAX:
            self._host.count("event not stored, tried again")
            self._host.set_timer(StoreTimer(cid), round(self._settings.rpc_timeout_ms * 1000))
            return
        del self._storing[cid]
        if kept:
            self._answer(storing.topic, storing.job, storing.record.carried.id, "")
        else:
            self._answer(storing.topic, storing.job, None, "not stored")
        self.go_on()

    def _answer(self, topic: Topic, job: Job, event: EventId | None, reason: str) -> None:
        """Tell who asked what came of it."""
        if job.asked is None:
            self._host.answered(job.request, event, reason)
            return
        answer = Answer(topic, job.request, event, reason)
        self._answers[job.request] = answer
        if len(self._answers) > ANSWERS_KEPT_MAX:
            del self._answers[next(iter(self._answers))]
        self._host.send(job.author, answer)

    # -- requests to publish --------------------------------------------------------------

    def _ask(self, place: Place, job: Job) -> None:
        request = EventDescriptor(
            topic=place.history.cid,
            author=self._identity.peer,
            payload=job.payload,
            created=stamp(self._host.now()),
        )
        job.asked, job.signature = request, request_signature(request, self._identity)
        self._asked[job.request] = place.topic, job
        self._send_ask(place, job)

    def _send_ask(self, place: Place, job: Job) -> None:
        job.tries += 1
        if place.parent is not None and job.asked is not None:
            ask = Ask(place.topic, job.request, job.asked.encode(), job.signature)
            self._host.send(place.parent, ask)
        self._host.set_timer(AskTimer(job.request), round(self._settings.request_timeout_ms * 1000))

    def on_ask(self, sender: NodeId, ask: Ask) -> None:
        """Publish, pass it up, or refuse; the sender must be a child."""
        place = self._trees.place(ask.topic)
        descriptor = place.descriptor
        if descriptor is None or not self._trees.hear(place, sender):
            self._host.count("request from a stranger")
            return
        if not descriptor.may_publish(self._identity.peer):
            if place.parent is not None:
                self._host.send(place.parent, ask)
            elif place.state is State.ROOT:
                self._host.send(ask.origin.publisher, Answer(ask.topic, ask.origin, None, NO_PUBLISHER))
            return
        if ask.origin in self._answers:
            known = self._answers[ask.origin]
            if known is not None:
                self._host.send(ask.origin.publisher, known)
            return
        try:
            request = decode_event(ask.data)
        except PeerError:
            self._host.count("request refused: malformed")
            return
        if not request.is_request or not is_requested(request, ask.signature):
            self._host.count("request refused: bad signature")
            return
        reason = ""
        if request.topic != place.history.cid or not descriptor.may_request(request.author):
            reason = NOT_ALLOWED
        elif self._waiting >= self._settings.queue_max:
            reason = BUSY
        if reason:
            self._host.count(f"request refused: {reason}")
            self._host.send(ask.origin.publisher, Answer(ask.topic, ask.origin, None, reason))
            return
        self._answers[ask.origin] = None
        job = Job(ask.origin, ask.origin.publisher, request.payload, None, request, ask.signature)
        self._enter(ask.topic, job)

    def on_answer(self, answer: Answer) -> None:
        asked = self._asked.get(answer.origin)
        if asked is None:
            self._host.count("answer to nothing")
            return
        _, job = asked
        if answer.published is None and answer.reason in {NO_PUBLISHER, BUSY} and job.tries < ASK_TRIES_MAX:
            return  # it is sent again when its time is up
        self._close(job, answer.published, answer.reason)

    def _close(self, job: Job, event: EventId | None, reason: str) -> None:
        self._host.cancel_timer(AskTimer(job.request))
        del self._asked[job.request]
        self._host.answered(job.request, event, reason)
        self.go_on()

    def timer(self, key: TimerKey) -> bool:
        """Whether it was one of publishing's timers."""
        match key:
            case AskTimer(request):
                topic, job = self._asked[request]
                if job.tries >= ASK_TRIES_MAX:
                    self._close(job, None, TIMED_OUT)
                else:
                    self._send_ask(self._trees.place(topic), job)
            case StoreTimer(cid):
                self._store(self._storing[cid])
            case _:
                return False
        return True
