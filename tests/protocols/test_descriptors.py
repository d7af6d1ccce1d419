"""Descriptors byte for byte as the reference writes them, and nothing else taken for one."""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import libipld
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pulsarcast_vectors import all_peers, changes, event_from, topic_from, vectors

from treecast.core import UsageError
from treecast.protocols.pulsarcast.cids import (
    Cid,
    as_cid,
    cid_of,
    cid_text,
    dht_key,
    parse_cid,
    parse_peer_id,
    peer_id_of,
    peer_text,
    public_key_of,
)
from treecast.protocols.pulsarcast.descriptors import (
    EVENT_BYTES_MAX,
    PAYLOAD_BYTES_MAX,
    DescriptorError,
    EventDescriptor,
    EventLinking,
    TopicDescriptor,
    Whitelist,
    created_at,
    decode_event,
    decode_topic,
)

TOPICS = [pytest.param(each, id=each["name"]) for each in vectors("topics")]
PEERS = [pytest.param(each, id=name) for name, each in all_peers().items()]
EVENTS = [pytest.param(each, id=each["name"]) for each in vectors("events")]

peer_ids = st.binary(min_size=32, max_size=32).map(peer_id_of) | st.binary(min_size=32, max_size=32).map(
    lambda digest: parse_peer_id(peer_text(b"\x12\x20" + digest))  # type: ignore[arg-type]
)
cids = st.binary(max_size=8).map(cid_of)
names = st.text(min_size=1, max_size=40)
times = st.integers(0, 4_000_000_000_000).map(created_at)
whitelists = st.just(Whitelist(False)) | st.lists(peer_ids, max_size=3).map(
    lambda found: Whitelist(True, tuple(found))
)
topics = st.builds(
    TopicDescriptor,
    name=names,
    author=peer_ids,
    created=times,
    parent=st.none() | cids,
    sub_topics=st.dictionaries(names, cids, max_size=4),
    allowed_publishers=whitelists,
    request_to_publish=whitelists,
    event_linking=st.sampled_from(EventLinking),
    protocol_version=names,
)
events = st.builds(
    EventDescriptor,
    topic=cids,
    author=peer_ids,
    payload=st.binary(max_size=300),
    created=times,
    publisher=st.none() | peer_ids,
    parent=st.none() | cids,
    protocol_version=names,
)


@pytest.mark.parametrize("vector", TOPICS)
def test_a_topic_is_what_the_reference_writes(vector: dict[str, Any]) -> None:
    expected = bytes.fromhex(vector["cbor_hex"])
    decoded, built = decode_topic(expected), topic_from(vector["input"])
    assert decoded == built
    for topic in (decoded, built):
        assert topic.encode() == expected
        assert topic.cid == vector["cid"]
        assert topic.cid_bytes.hex() == vector["cid_hex"] == vector["dht"]["record_key_hex"]
        assert dht_key(topic.cid_bytes) == int(vector["dht"]["kad_target_sha256_hex"], 16)


@pytest.mark.parametrize("vector", EVENTS)
def test_an_event_is_what_the_reference_writes(vector: dict[str, Any]) -> None:
    expected = bytes.fromhex(vector["cbor_hex"])
    decoded, built = decode_event(expected), event_from(vector["input"])
    assert decoded == built
    for event in (decoded, built):
        assert event.encode() == expected
        assert event.cid == vector["cid"]
        assert dht_key(event.cid_bytes) == int(vector["dht"]["kad_target_sha256_hex"], 16)


@pytest.mark.parametrize("peer", PEERS)
def test_peers_have_the_references_names(peer: dict[str, str]) -> None:
    found = parse_peer_id(peer["base58"])
    assert found.hex() == peer["hex"]
    assert peer_text(found) == peer["base58"]
    assert dht_key(found) == int(peer["kadKey_sha256_hex"], 16)
    key = public_key_of(found)
    assert key is None or peer_id_of(key) == found


@pytest.mark.parametrize("vector", [each for each in EVENTS if str(each.id).startswith("e09")])
def test_a_meta_event_carries_the_topic(vector: dict[str, Any]) -> None:
    by_cid = {topic["cid"]: topic for topic in vectors("topics")}
    topic = decode_topic(decode_event(bytes.fromhex(vector["cbor_hex"])).payload)
    assert topic.encode().hex() == by_cid[topic.cid]["cbor_hex"]


Decode: TypeAlias = Callable[..., TopicDescriptor | EventDescriptor]

EITHER = pytest.mark.parametrize(
    ("vector", "decode"),
    [pytest.param(*each.values, decode_topic, id=str(each.id)) for each in TOPICS]
    + [pytest.param(*each.values, decode_event, id=str(each.id)) for each in EVENTS],
)


@EITHER
def test_no_changed_bit_goes_unnoticed(vector: dict[str, Any], decode: Decode) -> None:
    """Refused for not being canonical, or for not being what the CID names."""
    encoded = bytes.fromhex(vector["cbor_hex"])
    no_change_goes_unnoticed(vector, decode, [1 << bit for bit in range(8)])
    for length in range(len(encoded)):
        with pytest.raises(DescriptorError):
            decode(encoded[:length])
    with pytest.raises(DescriptorError):
        decode(encoded + b"\0")


@pytest.mark.soak
@EITHER
def test_no_byte_for_another_goes_unnoticed(vector: dict[str, Any], decode: Decode) -> None:
    no_change_goes_unnoticed(vector, decode, range(1, 256))


def no_change_goes_unnoticed(vector: dict[str, Any], decode: Decode, differences: Iterable[int]) -> None:
    encoded, cid = bytes.fromhex(vector["cbor_hex"]), parse_cid(vector["cid"])
    assert decode(encoded, cid).encode() == encoded
    for changed in changes(encoded, differences):
        with pytest.raises(DescriptorError):
            decode(changed, cid)
        _refused_or_the_same(changed, decode)


def _refused_or_the_same(encoded: bytes, decode: Decode) -> bool:
    """Whether the bytes are a descriptor; if they are, they are its only form."""
    try:
        found = decode(encoded)
    except DescriptorError:
        return False
    assert found.encode() == encoded
    return True


@given(topics)
def test_any_topic_comes_back(topic: TopicDescriptor) -> None:
    assert decode_topic(topic.encode(), topic.cid_bytes) == topic
    assert parse_cid(topic.cid) == topic.cid_bytes


@given(events)
def test_any_event_comes_back(event: EventDescriptor) -> None:
    assert decode_event(event.encode(), event.cid_bytes) == event


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_by_the_same_error(encoded: bytes) -> None:
    assert not _refused_or_the_same(encoded, decode_event)
    assert not _refused_or_the_same(encoded, decode_topic)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.binary(max_size=40)
    | cids,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@given(topics | events, st.data())
def test_a_field_of_another_type_is_refused(
    whole: TopicDescriptor | EventDescriptor, data: st.DataObject
) -> None:
    """One field, at any depth, is replaced, left out or put in: refused, or in its one form."""
    decode: Decode = decode_topic if isinstance(whole, TopicDescriptor) else decode_event
    value: Any = libipld.decode_dag_cbor(whole.encode())
    inner = value
    while True:
        key = data.draw(st.sampled_from(sorted(inner)) | st.text(max_size=5))
        deeper = inner.get(key)
        if isinstance(deeper, dict) and deeper and data.draw(st.booleans()):
            inner = deeper
            continue
        if data.draw(st.booleans()):
            inner[key] = data.draw(values)
        else:
            inner.pop(key, None)
        break
    _refused_or_the_same(libipld.encode_dag_cbor(value), decode)


def test_links_are_of_the_one_kind() -> None:
    with pytest.raises(UsageError, match="01711220"):
        as_cid(bytes((1, 0x55, 0x12, 0x20)) + bytes(32))
    with pytest.raises(UsageError, match="36 bytes"):
        as_cid(cid_of(b"")[:-1])
    for text in (
        "",
        "Qm",
        "z",
        "z0",
        "bafyreicz56cresbihqzch7jkzvgeycpljxwcsfeujdxyq2twdsx7qit4ae",
        "z" * 10_000,
    ):
        with pytest.raises(UsageError):
            parse_cid(text)
    assert parse_cid(cid_text(cid_of(b"x"))) == cid_of(b"x")


def test_limits_are_named() -> None:
    author = peer_id_of(bytes(32))
    good = {"topic": cid_of(b""), "author": author, "created": created_at(0)}
    with pytest.raises(UsageError, match=str(PAYLOAD_BYTES_MAX)):
        EventDescriptor(payload=bytes(PAYLOAD_BYTES_MAX + 1), **good)  # type: ignore[arg-type]
    EventDescriptor(payload=bytes(PAYLOAD_BYTES_MAX), **good).encode()  # type: ignore[arg-type]
    with pytest.raises(DescriptorError, match=str(EVENT_BYTES_MAX)):
        decode_event(bytes(EVENT_BYTES_MAX + 1))
    with pytest.raises(UsageError, match="1 to 255"):
        TopicDescriptor(name="x" * 256, author=author, created=created_at(0))
    with pytest.raises(UsageError, match="Unicode"):
        TopicDescriptor(name="\ud800", author=author, created=created_at(0))
    for created in ("2021-06-21T12:34:56.789", "2021-06-31T00:00:00.000Z", "2021-06-21T12:34:56.789Z "):
        with pytest.raises(UsageError, match="created"):
            TopicDescriptor(name="x", author=author, created=created)


def test_the_largest_descriptors_are_within_the_limit_on_bytes() -> None:
    author = peer_id_of(bytes(32))
    peers = tuple(peer_id_of(number.to_bytes(32, "big")) for number in range(1024))
    long = "é" * 123
    whole = TopicDescriptor(
        name="x" * 255,
        author=author,
        created=created_at(0),
        parent=Cid(cid_of(b"")),
        sub_topics={f"{long}{number:09d}": cid_of(b"") for number in range(1024)},
        allowed_publishers=Whitelist(True, peers),
        request_to_publish=Whitelist(True, peers),
        protocol_version="x" * 255,
    )
    assert decode_topic(whole.encode()) == whole


def test_who_may_publish_and_who_may_ask() -> None:
    one, other = peer_id_of(bytes(32)), peer_id_of(bytes([1] * 32))

    def topic(allowed: Whitelist, request: Whitelist) -> TopicDescriptor:
        return TopicDescriptor(
            name="t",
            author=one,
            created=created_at(0),
            allowed_publishers=allowed,
            request_to_publish=request,
        )

    anybody = topic(Whitelist(False), Whitelist(False))
    assert anybody.may_publish(other)
    assert not anybody.may_request(other)
    only_one = topic(Whitelist(True, (one,)), Whitelist(True))
    assert only_one.may_publish(one)
    assert not only_one.may_publish(other)
    assert only_one.may_request(other)
    nobody = topic(Whitelist(True), Whitelist(True, (one,)))
    assert not nobody.may_publish(one)
    assert nobody.may_request(one)
    assert not nobody.may_request(other)
    with pytest.raises(UsageError, match="not enabled"):
        Whitelist(False, (one,))
