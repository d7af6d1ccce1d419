"""Topic and event descriptors (Pulsarcast, section 3, listings 1 and 2).

Immutable DAG-CBOR, named by its hash, in the form in which the reference implementation
writes it: sub-topics under the key `#`, no link as an empty map, `eventLinking` as a number,
`allowedPublishers` and `requestToPublish` as maps of `enabled` and `peers`.

Invariants: what `decode_topic` and `decode_event` return encodes to the very bytes that they
were given, and what they refuse raises `DescriptorError`, nothing else; a descriptor that
exists, decoded or built, is within the limits.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import IntEnum
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeVar

from treecast.core import PeerError, UsageError
from treecast.protocols.pulsarcast import dag_cbor
from treecast.protocols.pulsarcast.cids import Cid, PeerId, as_cid, as_peer_id, cid_of, cid_text

PROTOCOL_VERSION = "/pulsarcast/1.0.0"
META = "meta"
"""The sub-topic on which a topic's changes are published."""

NAME_BYTES_MAX = 255
"""Of a topic's name, a sub-topic's name and a protocol version."""
SUB_TOPICS_MAX = 1_024
PEERS_MAX = 1_024
"""Of one whitelist."""
PAYLOAD_BYTES_MAX = 1 << 20
TOPIC_BYTES_MAX = 512 << 10
"""More than the other limits leave room for."""
EVENT_BYTES_MAX = PAYLOAD_BYTES_MAX + 1_024

_CREATED = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z", re.ASCII)
_NO_SUB_TOPICS: Mapping[str, Cid] = MappingProxyType({})


class DescriptorError(PeerError):
    """These bytes are no descriptor; the message says which rule they break."""


class EventLinking(IntEnum):
    """Who chooses an event's parent."""

    LAST_SEEN = 0
    """The publisher's node: the event that it saw last."""
    CUSTOM = 1
    """The application."""


@dataclass(frozen=True, slots=True)
class Whitelist:
    """Peers that are singled out, if `enabled`; what an empty list means is for its field to say."""

    enabled: bool
    peers: tuple[PeerId, ...] = ()

    def __post_init__(self) -> None:
        if self.peers and not self.enabled:
            raise UsageError(f"a whitelist of {len(self.peers)} peers is not enabled; enable or empty it")
        if len(self.peers) > PEERS_MAX:
            raise UsageError(f"a whitelist has {len(self.peers)} peers; at most {PEERS_MAX} are allowed")
        for peer in self.peers:
            as_peer_id(peer)


EVERYONE = Whitelist(False)
"""As `allowed_publishers`: no list, so that anybody may publish."""
NOBODY = Whitelist(False)
"""As `request_to_publish`: not to be requested."""
ANYONE = Whitelist(True)
"""As `request_to_publish`: may be requested by anybody."""


def created_at(unix_ms: int) -> str:
    """A time as descriptors have it."""
    moment = datetime.fromtimestamp(unix_ms // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{unix_ms % 1000:03d}Z"


class Named(ABC):
    """What is named by the hash of how it is written; it never changes, so both are made once."""

    @abstractmethod
    def _write(self) -> bytes: ...

    @cached_property
    def _encoded(self) -> bytes:
        return self._write()

    @cached_property
    def cid_bytes(self) -> Cid:
        return cid_of(self._encoded)

    @property
    def cid(self) -> str:
        return cid_text(self.cid_bytes)

    def encode(self) -> bytes:
        return self._encoded


@dataclass(frozen=True, kw_only=True)
class TopicDescriptor(Named):
    """A topic: who made it, who may publish, how its events are linked."""

    name: str
    author: PeerId
    created: str
    parent: Cid | None = None
    """The version before this one."""
    sub_topics: Mapping[str, Cid] = field(default_factory=lambda: _NO_SUB_TOPICS)
    allowed_publishers: Whitelist = EVERYONE
    request_to_publish: Whitelist = ANYONE
    event_linking: EventLinking = EventLinking.LAST_SEEN
    protocol_version: str = PROTOCOL_VERSION

    def __post_init__(self) -> None:
        check_name("name", self.name)
        check_name("protocolVersion", self.protocol_version)
        check_created(self.created)
        as_peer_id(self.author)
        if self.parent is not None:
            as_cid(self.parent)
        if len(self.sub_topics) > SUB_TOPICS_MAX:
            raise UsageError(f"{len(self.sub_topics)} sub-topics; at most {SUB_TOPICS_MAX} are allowed")
        for name, cid in self.sub_topics.items():
            check_name("a sub-topic's name", name)
            as_cid(cid)

    @property
    def meta(self) -> Cid | None:
        """The topic on which changes of this one are published; a meta topic has none."""
        return self.sub_topics.get(META)

    def may_publish(self, peer: PeerId) -> bool:
        return not self.allowed_publishers.enabled or peer in self.allowed_publishers.peers

    def may_request(self, peer: PeerId) -> bool:
        """Whether `peer` may ask an allowed publisher to publish for it."""
        whitelist = self.request_to_publish
        return whitelist.enabled and (not whitelist.peers or peer in whitelist.peers)

    def _write(self) -> bytes:
        about = {
            "created": dag_cbor.text(self.created),
            "eventLinking": dag_cbor.number(self.event_linking),
            "protocolVersion": dag_cbor.text(self.protocol_version),
            "requestToPublish": _whitelist(self.request_to_publish),
            "allowedPublishers": _whitelist(self.allowed_publishers),
        }
        return dag_cbor.mapping(
            {
                "#": dag_cbor.mapping({name: dag_cbor.link(cid) for name, cid in self.sub_topics.items()}),
                "name": dag_cbor.text(self.name),
                "author": dag_cbor.octets(self.author),
                "parent": _parent(self.parent),
                "metadata": dag_cbor.mapping(about),
            }
        )


@dataclass(frozen=True, kw_only=True)
class EventDescriptor(Named):
    """An event, linked to its topic and to one before it."""

    topic: Cid
    author: PeerId
    """Who made it."""
    payload: bytes
    created: str
    publisher: PeerId | None = None
    """Who pushed it into the tree; None as long as nobody has."""
    parent: Cid | None = None
    protocol_version: str = PROTOCOL_VERSION

    def __post_init__(self) -> None:
        as_cid(self.topic)
        as_peer_id(self.author)
        if self.publisher is not None:
            as_peer_id(self.publisher)
        if self.parent is not None:
            as_cid(self.parent)
        if len(self.payload) > PAYLOAD_BYTES_MAX:
            raise UsageError(
                f"the payload has {len(self.payload)} bytes; at most {PAYLOAD_BYTES_MAX} are allowed"
            )
        check_created(self.created)
        check_name("protocolVersion", self.protocol_version)

    @property
    def is_request(self) -> bool:
        """Whether it is what a request to publish carries: nobody's yet, and not linked."""
        return self.publisher is None

    def _write(self) -> bytes:
        about = {
            "created": dag_cbor.text(self.created),
            "protocolVersion": dag_cbor.text(self.protocol_version),
        }
        return dag_cbor.mapping(
            {
                "topic": dag_cbor.link(self.topic),
                "author": dag_cbor.octets(self.author),
                "parent": _parent(self.parent),
                "payload": dag_cbor.octets(self.payload),
                "metadata": dag_cbor.mapping(about),
                "publisher": dag_cbor.NULL if self.publisher is None else dag_cbor.octets(self.publisher),
            }
        )


_Descriptor = TypeVar("_Descriptor", TopicDescriptor, EventDescriptor)


def decode_topic(encoded: bytes, cid: Cid | None = None) -> TopicDescriptor:
    """Refuse what is not a topic descriptor in its one form, or, if `cid` is given, is another than that."""
    return _decoded("topic", encoded, TOPIC_BYTES_MAX, cid, _topic_from)


def decode_event(encoded: bytes, cid: Cid | None = None) -> EventDescriptor:
    """Refuse what is not an event descriptor in its one form, or, if `cid` is given, is another than that."""
    return _decoded("event", encoded, EVENT_BYTES_MAX, cid, _event_from)


def _decoded(
    what: str, encoded: bytes, bytes_max: int, cid: Cid | None, build: Callable[[Any], _Descriptor]
) -> _Descriptor:
    if len(encoded) > bytes_max:
        raise DescriptorError(f"{what} descriptor: {len(encoded)} bytes; at most {bytes_max} are allowed")
    if cid is not None and cid_of(encoded) != cid:
        raise DescriptorError(f"{what} descriptor: its hash is not that of {cid_text(cid)}")
    try:
        found = build(dag_cbor.read(encoded))
    except (UsageError, ValueError) as error:
        raise DescriptorError(f"{what} descriptor: {error}") from None
    if found.encode() != encoded:
        raise DescriptorError(f"{what} descriptor: it is not in canonical form; its hash would be another")
    return found


def _topic_from(value: Any) -> TopicDescriptor:
    fields = _fields("the descriptor", value, ("#", "name", "author", "parent", "metadata"))
    about = _fields(
        "metadata",
        fields["metadata"],
        ("created", "eventLinking", "protocolVersion", "requestToPublish", "allowedPublishers"),
    )
    linking = _typed("eventLinking", about["eventLinking"], int)
    if linking not in tuple(EventLinking):
        raise UsageError(f"eventLinking is {linking}; it is 0 (last seen) or 1 (custom)")
    sub_topics = _typed("#", fields["#"], dict)
    return TopicDescriptor(
        name=_typed("name", fields["name"], str),
        author=as_peer_id(_typed("author", fields["author"], bytes)),
        created=_typed("created", about["created"], str),
        parent=_parent_from(fields["parent"]),
        sub_topics=MappingProxyType({name: _cid_from(name, link) for name, link in sub_topics.items()}),
        allowed_publishers=_whitelist_from("allowedPublishers", about["allowedPublishers"]),
        request_to_publish=_whitelist_from("requestToPublish", about["requestToPublish"]),
        event_linking=EventLinking(linking),
        protocol_version=_typed("protocolVersion", about["protocolVersion"], str),
    )


def _event_from(value: Any) -> EventDescriptor:
    fields = _fields(
        "the descriptor", value, ("topic", "author", "parent", "payload", "metadata", "publisher")
    )
    about = _fields("metadata", fields["metadata"], ("created", "protocolVersion"))
    publisher = fields["publisher"]
    return EventDescriptor(
        topic=_cid_from("topic", fields["topic"]),
        author=as_peer_id(_typed("author", fields["author"], bytes)),
        payload=_typed("payload", fields["payload"], bytes),
        created=_typed("created", about["created"], str),
        publisher=None if publisher is None else as_peer_id(_typed("publisher", publisher, bytes)),
        parent=_parent_from(fields["parent"]),
        protocol_version=_typed("protocolVersion", about["protocolVersion"], str),
    )


def _fields(where: str, value: Any, names: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = _typed(where, value, dict)
    if found.keys() != set(names):
        unknown = [name for name in found if name not in names]
        if unknown:
            raise UsageError(f"{where} has the unknown field {unknown[0]!r:.40}; known: {', '.join(names)}")
        missing = [name for name in names if name not in found]
        raise UsageError(f"{where} lacks the field {missing[0]!r}")
    return found


def _typed(where: str, value: Any, kind: type) -> Any:
    if type(value) is not kind:  # a bool is no int here
        raise UsageError(f"{where} is of type {type(value).__name__}; it is of type {kind.__name__}")
    return value


def _cid_from(where: str, value: Any) -> Cid:
    return as_cid(_typed(where, value, bytes))


def _parent_from(value: Any) -> Cid | None:
    if value == {} and type(value) is dict:
        return None
    return _cid_from("parent", value)


def _whitelist_from(where: str, value: Any) -> Whitelist:
    fields = _fields(where, value, ("peers", "enabled"))
    peers = _typed(f"{where}.peers", fields["peers"], list)
    return Whitelist(
        _typed(f"{where}.enabled", fields["enabled"], bool),
        tuple(as_peer_id(_typed(f"a peer in {where}", peer, bytes)) for peer in peers),
    )


def _whitelist(whitelist: Whitelist) -> bytes:
    peers = dag_cbor.array(dag_cbor.octets(peer) for peer in whitelist.peers)
    return dag_cbor.mapping({"peers": peers, "enabled": dag_cbor.boolean(whitelist.enabled)})


def _parent(cid: Cid | None) -> bytes:
    return dag_cbor.mapping({}) if cid is None else dag_cbor.link(cid)


def check_name(what: str, name: str) -> None:
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise UsageError(f"{what} {name!r:.40} is no Unicode text") from None
    if not 0 < size <= NAME_BYTES_MAX:
        raise UsageError(f"{what} {name!r:.40} has {size} bytes; it has 1 to {NAME_BYTES_MAX}")


def check_created(created: str) -> None:
    try:
        if _CREATED.fullmatch(created):
            datetime.fromisoformat(created)
            return
    except ValueError:
        pass
    raise UsageError(f"created is {created!r:.40}; it is a time such as 2021-06-21T12:34:56.789Z")
