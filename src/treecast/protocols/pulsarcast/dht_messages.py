"""What nodes of the DHT ask one another, and the values that they keep.

A request is named by its origin: the node that asks and its count of requests; the answer
carries the same. Keys travel as 32 bytes.

Invariant: whether a value belongs under a key shows from the value alone: its bytes hash to
the key, or its owner has signed it. `belongs` is that test.
"""

from functools import lru_cache
from typing import ClassVar, TypeAlias

import msgspec

from treecast.core import EventId, NodeId
from treecast.protocols.pulsarcast.cids import Cid, PeerId, cid_of, dht_key
from treecast.protocols.pulsarcast.identity import Identity, is_signed

KEY_BYTES = 32


class Content(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """DAG-CBOR, and what its publisher has signed about it where there is such."""

    data: bytes
    envelope: bytes = b""


class Provider(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """`peer` says that it has a part in what has this key; signed by it."""

    key: bytes
    peer: PeerId
    node: NodeId
    issued_us: int
    """By the peer's clock: of two records of one peer the later one counts."""
    signature: bytes


Value: TypeAlias = Content | Provider


def key_bytes(key: int) -> bytes:
    return key.to_bytes(KEY_BYTES, "big")


def content_key(cid: Cid) -> bytes:
    """Under which key content lies that has this name."""
    return key_bytes(dht_key(cid))


def make_provider(key: bytes, node: NodeId, identity: Identity, issued_us: int) -> Provider:
    signature = identity.sign(_provided(key, identity.peer, node, issued_us))
    return Provider(key, identity.peer, node, issued_us, signature)


@lru_cache(maxsize=1 << 16)
def belongs(key: bytes, value: Value) -> bool:
    if isinstance(value, Content):
        return content_key(cid_of(value.data)) == key
    if value.key != key or value.issued_us < 0:
        return False
    return is_signed(value.peer, _provided(key, value.peer, value.node, value.issued_us), value.signature)


def _provided(key: bytes, peer: PeerId, node: NodeId, issued_us: int) -> bytes:
    return b"treecast provides " + msgspec.msgpack.encode((key, peer, str(node), issued_us))


class Request(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Something to be answered."""

    topic: ClassVar[None] = None
    event: ClassVar[None] = None
    is_ack: ClassVar[bool] = False
    kind: ClassVar[str]

    origin: EventId


class Reply(Request, frozen=True, gc=False, array_like=True):
    """Answers the request of that origin."""

    is_ack: ClassVar[bool] = True


class Ping(Request, frozen=True, gc=False, array_like=True):
    """Are you there?"""

    kind: ClassVar[str] = "PING"


class Pong(Reply, frozen=True, gc=False, array_like=True):
    kind: ClassVar[str] = "PONG"


class FindNode(Request, frozen=True, gc=False, array_like=True):
    """Whom do you know nearest to this key?"""

    key: bytes

    kind: ClassVar[str] = "FIND_NODE"


class FindValue(Request, frozen=True, gc=False, array_like=True):
    """What lies under this key, content or `providers`; else, whom do you know nearest to it?"""

    key: bytes
    providers: bool = False

    kind: ClassVar[str] = "FIND_VALUE"


class Nodes(Reply, frozen=True, gc=False, array_like=True):
    """The nearest, the nearest first."""

    nodes: tuple[NodeId, ...]

    kind: ClassVar[str] = "NODES"


class Values(Reply, frozen=True, gc=False, array_like=True):
    """What lies under the key, and the nearest nodes known: others may hold more records."""

    values: tuple[Value, ...]
    nodes: tuple[NodeId, ...]

    kind: ClassVar[str] = "VALUES"


class Store(Request, frozen=True, gc=False, array_like=True):
    """Keep this under that key."""

    key: bytes
    value: Value

    kind: ClassVar[str] = "STORE"


class Stored(Reply, frozen=True, gc=False, array_like=True):
    """Whether it is kept."""

    accepted: bool

    kind: ClassVar[str] = "STORED"
