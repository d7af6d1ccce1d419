"""Who a node is: its peer id, its place in the DHT's space, and its signature.

A real node's id is a wide number, the sha-256 of its peer id, and so is its place in the
space. A simulated node's is a small number: it has the Ed25519 key whose seed is the sha-256
of `SIMULATED_SEED` and that number, and from it a peer id and a place like any other's. This
module alone knows of the difference.

Signatures are Ed25519. To check one costs more than all else that a node does with an event,
and a simulation has every node check the same one: `is_signed` remembers what it has found,
which is sound because it depends on nothing but its arguments.

Invariant: of one node all nodes derive the same peer id and the same place.
"""

from functools import cache, lru_cache
from hashlib import sha256
from typing import Protocol

from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey, VerifyKey

from treecast.core import NodeId
from treecast.protocols.pulsarcast.cids import PeerId, dht_key, peer_id_of, public_key_of

SIMULATED_SEED = b"treecast simulated node "
SMALL_ID_BITS = 63
"""Ids up to here are simulated nodes' numbers; a sha-256 is shorter once in 2^193 nodes."""
REMEMBERED_MAX = 1 << 16


class Identity(Protocol):
    """What a node proves by signing."""

    @property
    def peer(self) -> PeerId: ...

    def sign(self, message: bytes) -> bytes:
        """64 bytes that only this node can make."""
        ...


class KeyPair:
    """An Ed25519 key and the peer id that says it."""

    __slots__ = ("_key", "peer")

    def __init__(self, seed: bytes) -> None:
        self._key = SigningKey(seed)
        self.peer = peer_id_of(bytes(self._key.verify_key))

    def sign(self, message: bytes) -> bytes:
        return self._key.sign(message).signature


@cache
def simulated_identity(node: NodeId) -> KeyPair:
    return KeyPair(sha256(SIMULATED_SEED + str(node).encode()).digest())


@cache
def key_of(node: NodeId) -> int:
    """The node's place in the DHT's space."""
    if node >> SMALL_ID_BITS:
        return node
    return dht_key(simulated_identity(node).peer)


@lru_cache(maxsize=REMEMBERED_MAX)
def is_signed(peer: PeerId, message: bytes, signature: bytes) -> bool:
    """Whether that peer has signed the message; a peer whose id holds no key has signed nothing."""
    public_key = public_key_of(peer)
    if public_key is None:
        return False
    try:
        VerifyKey(public_key).verify(message, signature)
    except (BadSignatureError, ValueError):
        return False
    return True
