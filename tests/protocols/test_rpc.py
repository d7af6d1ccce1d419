"""RPC frames byte for byte as the reference sends them, and nothing else taken for one."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pulsarcast_vectors import changes, vectors
from test_descriptors import cids, events, names, times

from treecast.core import UsageError
from treecast.protocols.pulsarcast.descriptors import EventDescriptor
from treecast.protocols.pulsarcast.rpc import (
    FRAME_BYTES_MAX,
    MESSAGES_MAX,
    FrameError,
    Operation,
    Rpc,
    decode_frame,
    encode_frame,
)

FRAMES = [pytest.param(each, id=each["name"]) for each in vectors("rpc")]


def carrying(event: EventDescriptor, created: str) -> Rpc:
    operation = Operation.REQUEST_TO_PUBLISH if event.is_request else Operation.PUBLISH_EVENT
    return Rpc(operation=operation, created=created, event=event)


messages = (
    st.builds(carrying, events, times)
    | st.builds(
        Rpc,
        operation=st.sampled_from((Operation.JOIN_TOPIC, Operation.LEAVE_TOPIC)),
        created=times,
        protocol_version=names,
        topic_id=cids,
    )
    | st.builds(Rpc, operation=st.just(Operation.PING), created=times)
    | st.builds(Rpc, operation=st.just(Operation.NEW_TOPIC), created=times, topic=st.binary(max_size=60))
)


def refused_or_the_same(frame: bytes) -> bool:
    """Whether it is a frame; if it is, it is its messages' only one."""
    try:
        found = decode_frame(frame)
    except FrameError:
        return False
    assert encode_frame(found) == frame
    return True


@pytest.mark.parametrize("vector", FRAMES)
def test_a_frame_is_what_the_reference_sends(vector: dict[str, Any]) -> None:
    frame = bytes.fromhex(vector["framed_hex"])
    found = decode_frame(frame)
    assert [each.operation.name for each in found] == vector["op"]
    assert encode_frame(found) == frame
    assert frame.endswith(bytes.fromhex(vector["pb_hex"]))


@pytest.mark.parametrize("vector", FRAMES)
def test_a_changed_frame_is_refused_or_is_another(vector: dict[str, Any]) -> None:
    frame = bytes.fromhex(vector["framed_hex"])
    no_change_goes_unnoticed(frame, [1 << bit for bit in range(8)])
    for length in range(len(frame)):
        with pytest.raises(FrameError):
            decode_frame(frame[:length])
    with pytest.raises(FrameError):
        decode_frame(frame + b"\0")


@pytest.mark.soak
@pytest.mark.parametrize("vector", FRAMES)
def test_a_frame_with_any_byte_for_another_is_refused_or_is_another(vector: dict[str, Any]) -> None:
    no_change_goes_unnoticed(bytes.fromhex(vector["framed_hex"]), range(1, 256))


def no_change_goes_unnoticed(frame: bytes, differences: Iterable[int]) -> None:
    first = decode_frame(frame)
    for changed in changes(frame, differences):
        if refused_or_the_same(changed):
            assert decode_frame(changed) != first


@given(st.lists(messages, min_size=1, max_size=4))
def test_any_frame_comes_back(found: list[Rpc]) -> None:
    assert decode_frame(encode_frame(found)) == tuple(found)


@given(st.binary(max_size=120))
def test_any_bytes_are_refused_by_the_same_error(noise: bytes) -> None:
    refused_or_the_same(noise)
    refused_or_the_same(bytes((len(noise),)) + noise)


@given(st.lists(messages, min_size=1, max_size=2), st.data())
def test_what_is_not_canonical_is_refused(found: list[Rpc], data: st.DataObject) -> None:
    frame = encode_frame(found)
    place = data.draw(st.integers(0, len(frame)))
    put_in = data.draw(st.binary(max_size=4))
    refused_or_the_same(frame[:place] + put_in + frame[place:])


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        ("00", "no message"),
        ("", "does not end"),
        ("ffffffffffffffffffff01", "does not end"),
        ("8080808010", "at most 4194304"),
        ("020801", "unknown"),
        ("040a020801", "field 6 is missing"),
        ("030a0109", "does not end"),
        ("040a020d00", "wire type 5"),
        ("040a0a0801", "after its message"),
    ],
)
def test_why_it_is_refused(frame: str, why: str) -> None:
    with pytest.raises(FrameError, match=why):
        decode_frame(bytes.fromhex(frame))


def test_what_an_operation_is_about() -> None:
    created = "2021-06-21T12:34:56.789Z"
    with pytest.raises(UsageError, match="JOIN_TOPIC has no field; it has topic_id"):
        Rpc(operation=Operation.JOIN_TOPIC, created=created)
    with pytest.raises(UsageError, match="PING has topic; it has none"):
        Rpc(operation=Operation.PING, created=created, topic=b"")
    with pytest.raises(UsageError, match="created"):
        Rpc(operation=Operation.PING, created="now")
    ping = Rpc(operation=Operation.PING, created=created)
    with pytest.raises(UsageError, match=f"1 to {MESSAGES_MAX}"):
        encode_frame([ping] * (MESSAGES_MAX + 1))
    large = Rpc(operation=Operation.NEW_TOPIC, created=created, topic=bytes(FRAME_BYTES_MAX))
    with pytest.raises(UsageError, match=str(FRAME_BYTES_MAX)):
        encode_frame([large])
