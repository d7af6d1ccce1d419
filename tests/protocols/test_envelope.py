"""An envelope vouches for the one event that it was sealed for, and for nothing else."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pulsarcast_vectors import changes
from test_descriptors import cids, times

from treecast.core import UsageError
from treecast.protocols.pulsarcast.cids import Cid, as_peer_id, cid_of
from treecast.protocols.pulsarcast.descriptors import EventDescriptor, created_at
from treecast.protocols.pulsarcast.envelope import (
    PARENTS_MAX,
    Envelope,
    ForgeryError,
    check,
    decode_envelope,
    request_signature,
    seal,
)
from treecast.protocols.pulsarcast.identity import KeyPair

ALICE, BOB, MALLORY = (KeyPair(bytes([number] * 32)) for number in range(3))
TOPIC = cid_of(b"topic")


def request(payload: bytes = b"hello", created: str = created_at(0)) -> EventDescriptor:
    """Bob asks for it."""
    return EventDescriptor(topic=TOPIC, author=BOB.peer, payload=payload, created=created)


def published(
    asked: EventDescriptor, parent: Cid | None, parents: tuple[Cid, ...], sequence: int
) -> tuple[EventDescriptor, Envelope]:
    """Alice publishes what Bob asked for."""
    event = replace(asked, publisher=ALICE.peer, parent=parent)
    signature = request_signature(asked, BOB)
    return event, seal(event, sequence=sequence, parents=parents, publisher=ALICE, author_signature=signature)


@given(st.binary(max_size=50), times, st.none() | cids, st.lists(cids, max_size=4), st.integers(0, 2**63 - 1))
def test_what_was_sealed_passes_and_comes_back(
    payload: bytes, created: str, parent: Cid | None, parents: list[Cid], sequence: int
) -> None:
    event, envelope = published(request(payload, created), parent, tuple(parents), sequence)
    check(envelope, event)
    assert decode_envelope(envelope.encode()) == envelope
    assert set(envelope.parents) == {*parents, *([] if parent is None else [parent])}
    own = replace(event, author=ALICE.peer)
    check(seal(own, sequence=sequence, parents=parents, publisher=ALICE), own)


def test_no_changed_byte_of_an_envelope_passes() -> None:
    event, envelope = published(request(), cid_of(b"1"), (cid_of(b"2"),), 7)
    for changed in changes(envelope.encode(), range(1, 256)):
        with pytest.raises(ForgeryError):
            check(decode_envelope(changed), event)


def test_no_other_event_passes_under_it() -> None:
    event, envelope = published(request(), cid_of(b"1"), (cid_of(b"2"),), 7)
    others: list[Callable[[EventDescriptor], EventDescriptor]] = [
        lambda it: replace(it, payload=b"bye"),
        lambda it: replace(it, topic=cid_of(b"another")),
        lambda it: replace(it, parent=cid_of(b"2")),
        lambda it: replace(it, parent=None),
        lambda it: replace(it, author=MALLORY.peer),
        lambda it: replace(it, publisher=MALLORY.peer),
        lambda it: replace(it, created=created_at(1)),
    ]
    for change in others:
        with pytest.raises(ForgeryError, match="an envelope of"):
            check(envelope, change(event))
        renamed = replace(envelope, event=change(event).cid_bytes)
        with pytest.raises(ForgeryError, match=r"signed|parent"):
            check(renamed, change(event))


def test_a_publisher_cannot_put_words_into_another_mouth() -> None:
    words = replace(request(b"I owe you"), publisher=MALLORY.peer)
    signed = request_signature(request(), BOB)  # Bob has asked for other words
    for signature in (signed, bytes(64)):
        envelope = seal(words, sequence=0, parents=(), publisher=MALLORY, author_signature=signature)
        with pytest.raises(ForgeryError, match=r"author .* has not signed"):
            check(envelope, words)


def test_a_request_is_not_an_event() -> None:
    with pytest.raises(UsageError, match="seals"):
        seal(request(), sequence=0, parents=(), publisher=ALICE)
    event, envelope = published(request(), None, (), 0)
    with pytest.raises(ForgeryError, match="only a request"):
        check(replace(envelope, event=request().cid_bytes), request())
    with pytest.raises(UsageError, match="only its author"):
        request_signature(event, BOB)
    with pytest.raises(UsageError, match="only its author"):
        request_signature(request(), ALICE)


def test_a_peer_whose_id_holds_no_key_has_signed_nothing() -> None:
    hashed = as_peer_id(bytes((0x12, 0x20)) + bytes(32))
    event, envelope = published(request(), None, (), 0)
    foreign = replace(event, publisher=hashed)
    with pytest.raises(ForgeryError, match=r"publisher .* has not signed"):
        check(replace(envelope, event=foreign.cid_bytes), foreign)


def test_limits_are_named() -> None:
    event = replace(request(), author=ALICE.peer, publisher=ALICE.peer)
    many = [cid_of(bytes([number % 256, number // 256])) for number in range(PARENTS_MAX + 1)]
    with pytest.raises(UsageError, match=f"{PARENTS_MAX + 1} parents; at most {PARENTS_MAX}"):
        seal(event, sequence=0, parents=many, publisher=ALICE)
    whole = seal(event, sequence=2**63 - 1, parents=many[:PARENTS_MAX], publisher=ALICE)
    assert decode_envelope(whole.encode()) == whole
    with pytest.raises(UsageError, match="sequence is -1"):
        seal(event, sequence=-1, parents=(), publisher=ALICE)
    with pytest.raises(ForgeryError, match="at most 16384"):
        decode_envelope(bytes(20_000))


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_by_the_same_error(noise: bytes) -> None:
    with pytest.raises(ForgeryError):
        decode_envelope(noise)
