"""What vouches for an event: its author's and its publisher's signatures, apart from the descriptor.

Beyond the paper. A descriptor keeps the form, and so the CID, that the reference gives it;
an envelope goes with it and carries what that form has no room for: several parents (the
causal barrier), the publisher's sequence number, and signatures.

The author signs the event as he asks for it to be published, before anybody has linked it; the
publisher signs what he has made of it. Who is both signs once. So nobody can put words into
another's mouth, or move an event to another place in the history; that the publisher may
publish at all is for the topic's descriptor to say.

Invariant: an envelope that passes `check` was sealed, for that very event, by the publisher
whom the event names, out of what its author signed.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from treecast.core import PeerError, UsageError
from treecast.protocols.pulsarcast import dag_cbor
from treecast.protocols.pulsarcast.cids import Cid, as_cid, cid_text, peer_text
from treecast.protocols.pulsarcast.descriptors import EventDescriptor
from treecast.protocols.pulsarcast.identity import Identity, is_signed

PARENTS_MAX = 256
"""More than a causal barrier grows to among hundreds of busy publishers."""
SEQUENCE_MAX = (1 << 63) - 1
ENVELOPE_BYTES_MAX = 16 << 10
"""More than the other limits leave room for."""

_SIGNATURE_BYTES = 64
_REQUEST, _EVENT = b"treecast request 1\0", b"treecast event 1\0"
"""What a signature is for stands before what is signed, so that none serves for two things."""


class ForgeryError(PeerError):
    """An event is not what its envelope would have it be; the message says in what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """Goes with one event."""

    event: Cid
    sequence: int
    """The publisher's, on this topic."""
    parents: tuple[Cid, ...]
    """In ascending order; the descriptor's own parent, if it has one, is among them."""
    author_signature: bytes
    """Empty where the author is the publisher."""
    signature: bytes

    def __post_init__(self) -> None:
        as_cid(self.event)
        if not 0 <= self.sequence <= SEQUENCE_MAX:
            raise UsageError(f"sequence is {self.sequence}; it is from 0 to {SEQUENCE_MAX}")
        if len(self.parents) > PARENTS_MAX:
            raise UsageError(f"{len(self.parents)} parents; at most {PARENTS_MAX} are allowed")
        if list(self.parents) != sorted(set(self.parents)):
            raise UsageError("the parents are not in ascending order, each once")
        for parent in self.parents:
            as_cid(parent)
        if len(self.signature) != _SIGNATURE_BYTES or len(self.author_signature) not in {0, _SIGNATURE_BYTES}:
            raise UsageError(f"a signature has not {_SIGNATURE_BYTES} bytes")

    @property
    def signed(self) -> bytes:
        """What the publisher signs: all the rest."""
        return _EVENT + dag_cbor.array(self._parts())

    def encode(self) -> bytes:
        return dag_cbor.array((*self._parts(), dag_cbor.octets(self.signature)))

    def _parts(self) -> tuple[bytes, ...]:
        return (
            dag_cbor.link(self.event),
            dag_cbor.number(self.sequence),
            dag_cbor.array(dag_cbor.link(parent) for parent in self.parents),
            dag_cbor.octets(self.author_signature),
        )


def request_signature(request: EventDescriptor, author: Identity) -> bytes:
    """What the author signs when he asks another to publish."""
    if not request.is_request or request.parent is not None or request.author != author.peer:
        raise UsageError("only its author signs an event that is nobody's yet, and not linked")
    return author.sign(_REQUEST + request.cid_bytes)


def is_requested(request: EventDescriptor, signature: bytes) -> bool:
    """Whether the author did ask for that."""
    return is_signed(request.author, _REQUEST + request.cid_bytes, signature)


def seal(
    event: EventDescriptor,
    *,
    sequence: int,
    parents: Iterable[Cid],
    publisher: Identity,
    author_signature: bytes = b"",
) -> Envelope:
    """What the publisher sends with his event; with another author's, that one's signature is needed."""
    if event.publisher != publisher.peer:
        raise UsageError("only the publisher whom it names seals an event")
    if (event.author == event.publisher) == bool(author_signature):
        raise UsageError("the author's signature goes with an event of another author, and with no other")
    of_all = set(parents) if event.parent is None else {event.parent, *parents}
    unsigned = Envelope(
        event=event.cid_bytes,
        sequence=sequence,
        parents=tuple(sorted(of_all)),
        author_signature=author_signature,
        signature=bytes(_SIGNATURE_BYTES),
    )
    return replace(unsigned, signature=publisher.sign(unsigned.signed))


def check(envelope: Envelope, event: EventDescriptor) -> None:
    """Raise `ForgeryError` unless the envelope vouches for the event."""
    name, publisher = cid_text(envelope.event), event.publisher
    if envelope.event != event.cid_bytes:
        raise ForgeryError(f"an envelope of {name} came with event {event.cid}")
    if publisher is None:
        raise ForgeryError(f"event {name} names no publisher: it is only a request")
    if event.parent is not None and event.parent not in envelope.parents:
        raise ForgeryError(f"event {name} has another parent than its envelope says")
    if envelope.event in envelope.parents:
        raise ForgeryError(f"event {name} is its own parent")
    if event.author != publisher:
        request = replace(event, publisher=None, parent=None)
        if not is_requested(request, envelope.author_signature):
            raise ForgeryError(f"event {name}: its author {peer_text(event.author)} has not signed it")
    elif envelope.author_signature:
        raise ForgeryError(
            f"event {name} has an author's signature besides that of its publisher, the author"
        )
    if not is_signed(publisher, envelope.signed, envelope.signature):
        raise ForgeryError(f"event {name}: its publisher {peer_text(publisher)} has not signed its envelope")


def decode_envelope(encoded: bytes) -> Envelope:
    """Refuse, by `ForgeryError`, what is not an envelope in its one form."""
    if len(encoded) > ENVELOPE_BYTES_MAX:
        raise ForgeryError(f"envelope: {len(encoded)} bytes; at most {ENVELOPE_BYTES_MAX} are allowed")
    try:
        event, sequence, parents, author_signature, signature = _items(dag_cbor.read(encoded))
        found = Envelope(
            event=event,
            sequence=sequence,
            parents=parents,
            author_signature=author_signature,
            signature=signature,
        )
    except (UsageError, ValueError) as error:
        raise ForgeryError(f"envelope: {error}") from None
    if found.encode() != encoded:
        raise ForgeryError("envelope: it is not in canonical form")
    return found


def _items(value: object) -> tuple[Cid, int, tuple[Cid, ...], bytes, bytes]:
    """What an envelope's array holds, if it is of the right types."""
    match value:
        case [bytes(event), int(sequence), list(parents), bytes(author_signature), bytes(signature)]:
            if not isinstance(sequence, bool) and all(isinstance(parent, bytes) for parent in parents):
                return as_cid(event), sequence, tuple(map(as_cid, parents)), author_signature, signature
    raise UsageError("it is not an event, a sequence, its parents and two signatures")
