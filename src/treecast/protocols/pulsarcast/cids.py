"""The names of content and of peers, as IPLD and libp2p have them (Pulsarcast, section 3).

Content is named by a CID: version 1, DAG-CBOR, sha2-256. A peer is named by a multihash: of
its public key where that is long (RSA), or, in the identity form, the Ed25519 key itself.
Inside, names are the bytes; texts (base58btc) are for people, journals and files.

Invariants: a `Cid` is 36 bytes and a `PeerId` one of the two forms: only `cid_of`,
`parse_cid`, `as_cid` and their like for peers make them.
"""

from hashlib import sha256
from typing import NewType

import base58

from treecast.core import UsageError

Cid = NewType("Cid", bytes)
PeerId = NewType("PeerId", bytes)

CID_BYTES = 36
_CID_BEGIN = bytes((0x01, 0x71, 0x12, 0x20))
"""Version 1, dag-cbor, sha2-256, 32 bytes."""

_SHA_256_BEGIN = bytes((0x12, 0x20))
_IDENTITY_BEGIN = bytes((0x00, 0x24, 0x08, 0x01, 0x12, 0x20))
"""The multihash that hashes nothing, of libp2p's message for an Ed25519 key: 32 bytes follow."""
_DIGEST_BYTES = 32

TEXT_LENGTH_MAX = 64
"""No name's text is longer; base58 takes time that grows with the square of the length."""


def cid_of(content: bytes) -> Cid:
    """The name of some DAG-CBOR."""
    return Cid(_CID_BEGIN + sha256(content).digest())


def as_cid(name: bytes) -> Cid:
    """`name`, if it is a CID of the only kind that Pulsarcast has."""
    if len(name) != CID_BYTES or not name.startswith(_CID_BEGIN):
        raise UsageError(
            f"{name[:8].hex()}..., {len(name)} bytes, is no CID; "
            "a CID is version 1, dag-cbor, sha2-256, in 36 bytes that begin with 01711220"
        )
    return Cid(name)


def cid_text(cid: Cid) -> str:
    """In base58btc, with its multibase prefix."""
    return "z" + base58.b58encode(cid).decode()


def parse_cid(text: str) -> Cid:
    if not text.startswith("z"):
        raise UsageError(f"{text[:16]!r} is no CID in base58btc; one begins with 'zdpu'")
    return as_cid(_base58(text[1:], text))


def as_peer_id(name: bytes) -> PeerId:
    """`name`, if it is a peer's id."""
    begin = _SHA_256_BEGIN if name.startswith(_SHA_256_BEGIN) else _IDENTITY_BEGIN
    if not name.startswith(begin) or len(name) != len(begin) + _DIGEST_BYTES:
        raise UsageError(
            f"{name[:8].hex()}..., {len(name)} bytes, is no peer id; a peer id is a sha2-256 multihash "
            "(1220, then 32 bytes) or an Ed25519 key in the identity form (002408011220, then 32 bytes)"
        )
    return PeerId(name)


def peer_text(peer: PeerId) -> str:
    """As libp2p writes it: Qm... or 12D3KooW..."""
    return base58.b58encode(peer).decode()


def parse_peer_id(text: str) -> PeerId:
    return as_peer_id(_base58(text, text))


def peer_id_of(public_key: bytes) -> PeerId:
    """The id of the peer with that Ed25519 key."""
    return as_peer_id(_IDENTITY_BEGIN + public_key)


def public_key_of(peer: PeerId) -> bytes | None:
    """The Ed25519 key that the id consists of; None if it only names a key by its hash."""
    return peer[len(_IDENTITY_BEGIN) :] if peer.startswith(_IDENTITY_BEGIN) else None


def dht_key(name: Cid | PeerId) -> int:
    """Where content or a peer stands in Kademlia's space of 256 bits."""
    return int.from_bytes(sha256(name).digest(), "big")


def _base58(text: str, whole: str) -> bytes:
    if len(whole) > TEXT_LENGTH_MAX:
        raise UsageError(f"{whole[:16]!r}... has {len(whole)} letters; a name has at most {TEXT_LENGTH_MAX}")
    try:
        return base58.b58decode(text.encode())
    except ValueError:
        raise UsageError(f"{whole!r} is not in base58btc, which has no 0, O, I and l") from None
