"""Descriptors and RPC frames as the reference implementation of Pulsarcast serialises them.

They lie beside the project (`../shared/data`), not in it; where they are missing there is none
to run a test with, and pytest says so.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from treecast.protocols.pulsarcast.cids import Cid, PeerId, parse_cid, parse_peer_id
from treecast.protocols.pulsarcast.descriptors import (
    EventDescriptor,
    EventLinking,
    TopicDescriptor,
    Whitelist,
)

VECTORS = Path(__file__).parents[3] / "shared" / "data" / "pulsarcast-vectors.json"


def _all() -> dict[str, Any]:
    return json.loads(VECTORS.read_text()) if VECTORS.exists() else {}


def vectors(kind: str) -> list[dict[str, Any]]:
    """Those of a kind: topics, events or rpc."""
    return _all().get(kind, [])


def all_peers() -> dict[str, dict[str, str]]:
    return _all().get("peers", {})


def peers() -> dict[str, PeerId]:
    return {name: parse_peer_id(peer["base58"]) for name, peer in all_peers().items()}


def _cid(text: str | None) -> Cid | None:
    return None if text is None else parse_cid(text)


def _whitelist(value: bool | list[str]) -> Whitelist:
    if isinstance(value, bool):
        return Whitelist(value)
    return Whitelist(True, tuple(peers()[name] for name in value))


def topic_from(described: dict[str, Any]) -> TopicDescriptor:
    """The descriptor that a vector's `input` describes."""
    return TopicDescriptor(
        name=described["name"],
        author=peers()[described["author"]],
        created=described["created"],
        parent=_cid(described["parent"]),
        sub_topics={name: parse_cid(text) for name, text in described["subTopics"].items()},
        allowed_publishers=_whitelist(described["allowedPublishers"]),
        request_to_publish=_whitelist(described["requestToPublish"]),
        event_linking=EventLinking[described["eventLinking"]],
        protocol_version=described["protocolVersion"],
    )


def event_from(described: dict[str, Any]) -> EventDescriptor:
    """The descriptor that a vector's `input` describes."""
    publisher = described["publisher"]
    return EventDescriptor(
        topic=parse_cid(described["topic"]),
        author=peers()[described["author"]],
        payload=bytes.fromhex(described["payload_hex"]),
        created=described["created"],
        publisher=None if publisher is None else peers()[publisher],
        parent=_cid(described["parent"]),
        protocol_version=described["protocolVersion"],
    )


def changes(encoded: bytes, differences: Iterable[int]) -> Iterator[bytes]:
    """The same bytes but for one, which differs by each of these."""
    masks = list(differences)
    for place, byte in enumerate(encoded):
        for mask in masks:
            yield encoded[:place] + bytes((byte ^ mask,)) + encoded[place + 1 :]
