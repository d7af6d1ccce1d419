"""Events that have been checked: read from their bytes, and found to be what they are said to be.

Invariant: a `Record` exists only for bytes that decode in their one form, hash to the CID,
and were signed by the publisher they name, and by the author; what does not pass raises a
`PeerError`. Whether the publisher may publish, and whether the links lead to events of the
same topic, only who knows the topic can say.
"""

from collections.abc import Sequence
from functools import lru_cache

from treecast.core import Event, EventId, NodeId, PeerError, Topic
from treecast.protocols.pulsarcast.cids import Cid, PeerId, dht_key
from treecast.protocols.pulsarcast.descriptors import EventDescriptor, decode_event, decode_topic
from treecast.protocols.pulsarcast.dht_messages import Content
from treecast.protocols.pulsarcast.envelope import Envelope, check, decode_envelope
from treecast.protocols.pulsarcast.identity import key_of, simulated_identity
from treecast.protocols.pulsarcast.messages import Carried

REMEMBERED_MAX = 1 << 16


class Record:
    """One event."""

    __slots__ = ("_event", "carried", "descriptor", "parents", "publisher")

    def __init__(self, carried: Carried, descriptor: EventDescriptor, envelope: Envelope) -> None:
        assert descriptor.publisher is not None, "the check refuses an event without one"
        self.carried = carried
        self.descriptor = descriptor
        self.parents: tuple[Cid, ...] = envelope.parents
        self.publisher: PeerId = descriptor.publisher
        self._event: Event | None = None

    def event(self, topic: Topic, records: dict[Cid, "Record"]) -> Event:
        """As the application has it; parents that are not among `records` are left out."""
        found = [records[parent].carried.id for parent in self.parents if parent in records]
        if len(found) < len(self.parents):
            return Event(self.carried.id, topic, frozenset(found), self.descriptor.payload)
        if self._event is None:  # whoever has all parents has the same
            self._event = Event(self.carried.id, topic, frozenset(found), self.descriptor.payload)
        return self._event


@lru_cache(maxsize=REMEMBERED_MAX)
def read_record(carried: Carried) -> Record:
    """Check everything that shows from the event alone.

    Remembered, because in one process every node is handed the same event; it depends on
    nothing but its arguments.
    """
    envelope = decode_envelope(carried.envelope)
    descriptor = decode_event(carried.data, carried.cid)
    check(envelope, descriptor)
    if envelope.sequence != carried.id.sequence:
        raise PeerError(f"event {carried.id} is number {envelope.sequence} of its publisher's")
    record = Record(carried, descriptor, envelope)
    if key_of(carried.id.publisher) != dht_key(record.publisher):
        raise PeerError(f"event {carried.id} was published by another node")
    return record


def carried_of(content: Content, nodes: Sequence[NodeId]) -> Carried | None:
    """An event out of the DHT as the tree carries it; None when it is none."""
    try:
        publisher = decode_event(content.data).publisher
        envelope = decode_envelope(content.envelope)
    except PeerError:
        return None
    if publisher is None:
        return None
    node = _directory(tuple(nodes)).get(publisher, dht_key(publisher))
    return Carried(EventId(node, envelope.sequence), envelope.event, content.data, content.envelope)


@lru_cache(maxsize=8)
def _directory(nodes: tuple[NodeId, ...]) -> dict[PeerId, NodeId]:
    """Simulated nodes by their peer ids; a real node's id follows from its peer id."""
    return {simulated_identity(node).peer: node for node in nodes if key_of(node) != node}


@lru_cache(maxsize=REMEMBERED_MAX)
def is_sound(content: Content) -> bool:
    """Whether the DHT is to keep it: a topic, an event, or an event and an envelope that vouches for it."""
    try:
        if content.envelope:
            check(decode_envelope(content.envelope), decode_event(content.data))
            return True
        if is_topic(content.data):
            return True
        decode_event(content.data)
    except PeerError:
        return False
    return True


def is_topic(data: bytes) -> bool:
    try:
        decode_topic(data)
    except PeerError:
        return False
    return True
