"""RPC frames as the reference implementation of Pulsarcast sends them: Protocol Buffers behind a length.

A frame holds messages; a message an operation and what that is about: an event, or the id of
a topic. NEW_TOPIC, which nobody ever sent and whose schema has one field number twice, is
carried as it came. UPDATE has no sender either, and is refused.

Invariants: what `decode_frame` takes, `encode_frame` writes in the very same bytes; what it
refuses raises `FrameError`, nothing else. A frame has no checksum: that an event is what its
author sent is for `envelope` to say.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from treecast.core import PeerError, UsageError
from treecast.protocols.pulsarcast.cids import Cid, as_cid, as_peer_id
from treecast.protocols.pulsarcast.descriptors import (
    PROTOCOL_VERSION,
    EventDescriptor,
    check_created,
    check_name,
)

FRAME_BYTES_MAX = 4 << 20
MESSAGES_MAX = 1_024
"""In one frame."""

_VARINT, _LENGTH = 0, 2
_VARINT_BYTES_MAX = 10

_Field: TypeAlias = tuple[int, "int | bytes"]


class FrameError(PeerError):
    """These bytes are no RPC frame; the message says which rule they break."""


class Operation(IntEnum):
    """What a message asks for; the numbers are on the wire."""

    PING = 0
    PUBLISH_EVENT = 2
    JOIN_TOPIC = 3
    LEAVE_TOPIC = 4
    NEW_TOPIC = 5
    REQUEST_TO_PUBLISH = 6


_ABOUT = {
    Operation.PING: None,
    Operation.PUBLISH_EVENT: "event",
    Operation.JOIN_TOPIC: "topic_id",
    Operation.LEAVE_TOPIC: "topic_id",
    Operation.NEW_TOPIC: "topic",
    Operation.REQUEST_TO_PUBLISH: "event",
}
"""Which field an operation is about; the others are absent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rpc:
    """One message of a frame."""

    operation: Operation
    created: str
    protocol_version: str = PROTOCOL_VERSION
    topic_id: Cid | None = None
    event: EventDescriptor | None = None
    topic: bytes | None = None
    """What NEW_TOPIC carries, unread."""

    def __post_init__(self) -> None:
        check_created(self.created)
        check_name("protocolVersion", self.protocol_version)
        about = _ABOUT[self.operation]
        given = [name for name in ("topic_id", "event", "topic") if getattr(self, name) is not None]
        if given != ([] if about is None else [about]):
            raise UsageError(
                f"{self.operation.name} has {' and '.join(given) or 'no field'}; it has {about or 'none'}"
            )
        if self.event is not None and self.event.is_request != (
            self.operation is Operation.REQUEST_TO_PUBLISH
        ):
            raise UsageError(f"{self.operation.name} carries an event that is of another stage")
        if self.topic_id is not None:
            as_cid(self.topic_id)


def encode_frame(messages: Sequence[Rpc]) -> bytes:
    """A length and the messages behind it."""
    if not 0 < len(messages) <= MESSAGES_MAX:
        raise UsageError(f"{len(messages)} messages; a frame has 1 to {MESSAGES_MAX}")
    body = b"".join(_item(1, _write_message(message)) for message in messages)
    if len(body) > FRAME_BYTES_MAX:
        raise UsageError(f"a frame of {len(body)} bytes; at most {FRAME_BYTES_MAX} are allowed")
    return _write_varint(len(body)) + body


def decode_frame(frame: bytes) -> tuple[Rpc, ...]:
    """The messages of exactly one frame."""
    length, begin = _read_varint(frame, 0)
    if length > FRAME_BYTES_MAX:
        raise FrameError(f"the frame has {length} bytes; at most {FRAME_BYTES_MAX} are allowed")
    if len(frame) - begin != length:
        raise FrameError(f"the frame is to have {length} bytes after its length; it has {len(frame) - begin}")
    messages: list[Rpc] = []
    for number, value in _read_fields(frame[begin:]):
        if number != 1 or isinstance(value, int):
            raise FrameError(f"field {number} of the frame is unknown; messages are field 1")
        if len(messages) == MESSAGES_MAX:
            raise FrameError(f"the frame has more than {MESSAGES_MAX} messages")
        messages.append(_read_message(value))
    if not messages:
        raise FrameError("the frame has no message")
    if encode_frame(messages) != frame:
        raise FrameError("the frame is not in canonical form")
    return tuple(messages)


# -- messages -----------------------------------------------------------------------------


def _write_message(message: Rpc) -> bytes:
    parts = [_number(1, message.operation)]
    if message.topic is not None:
        parts.append(_item(2, message.topic))
    if message.event is not None:
        parts.append(_item(3, _write_event(message.event)))
    if message.topic_id is not None:
        parts.append(_item(5, message.topic_id))
    parts.append(_item(6, _write_about(message.created, message.protocol_version)))
    return b"".join(parts)


def _write_event(event: EventDescriptor) -> bytes:
    parts = [_item(1, event.author), _item(2, _item(1, event.topic)), _item(3, event.payload)]
    if event.publisher is not None:
        parts.append(_item(4, event.publisher))
    parts.append(_item(5, b"" if event.parent is None else _item(1, event.parent)))
    parts.append(_item(6, _write_about(event.created, event.protocol_version)))
    return b"".join(parts)


def _write_about(created: str, protocol_version: str) -> bytes:
    return _item(1, created.encode()) + _item(2, protocol_version.encode())


def _read_message(encoded: bytes) -> Rpc:
    fields = _Fields("message", encoded)
    try:
        created, protocol_version = _read_about(fields.octets(6))
        topic_id, event = fields.octets_if(5), fields.octets_if(3)
        message = Rpc(
            operation=_operation(fields.number(1)),
            created=created,
            protocol_version=protocol_version,
            topic_id=None if topic_id is None else as_cid(topic_id),
            event=None if event is None else _read_event(event),
            topic=fields.octets_if(2),
        )
    except UsageError as error:
        raise FrameError(f"message: {error}") from None
    fields.end()
    return message


def _operation(number: int) -> Operation:
    try:
        return Operation(number)
    except ValueError:
        known = ", ".join(f"{each.value} ({each.name})" for each in Operation)
        raise FrameError(f"operation {number} is unknown; known: {known}") from None


def _read_event(encoded: bytes) -> EventDescriptor:
    fields = _Fields("event", encoded)
    created, protocol_version = _read_about(fields.octets(6))
    topic = _Fields("topic link", fields.octets(2))
    parent = _Fields("parent link", fields.octets(5))
    publisher, before = fields.octets_if(4), parent.octets_if(1)
    event = EventDescriptor(
        topic=as_cid(topic.octets(1)),
        author=as_peer_id(fields.octets(1)),
        payload=fields.octets(3),
        created=created,
        publisher=None if publisher is None else as_peer_id(publisher),
        parent=None if before is None else as_cid(before),
        protocol_version=protocol_version,
    )
    for each in (fields, topic, parent):
        each.end()
    return event


def _read_about(encoded: bytes) -> tuple[str, str]:
    fields = _Fields("metadata", encoded)
    created, protocol_version = fields.text(1), fields.text(2)
    fields.end()
    return created, protocol_version


class _Fields:
    """The fields of one message, each there once at the most."""

    def __init__(self, where: str, encoded: bytes) -> None:
        self._where = where
        self._values: dict[int, int | bytes] = {}
        for number, value in _read_fields(encoded):
            if number in self._values:
                raise FrameError(f"{where}: field {number} is there twice")
            self._values[number] = value

    def octets_if(self, number: int) -> bytes | None:
        value = self._values.pop(number, None)
        if isinstance(value, int):
            raise FrameError(f"{self._where}: field {number} is a number; it is a string of bytes")
        return value

    def octets(self, number: int) -> bytes:
        value = self.octets_if(number)
        if value is None:
            raise FrameError(f"{self._where}: field {number} is missing")
        return value

    def text(self, number: int) -> str:
        try:
            return self.octets(number).decode()
        except UnicodeDecodeError:
            raise FrameError(f"{self._where}: field {number} is no text in UTF-8") from None

    def number(self, number: int) -> int:
        value = self._values.pop(number, None)
        if not isinstance(value, int):
            raise FrameError(f"{self._where}: field {number} is no number, or missing")
        return value

    def end(self) -> None:
        """Nothing else may be there."""
        if self._values:
            raise FrameError(f"{self._where}: field {min(self._values)} is unknown")


# -- Protocol Buffers ---------------------------------------------------------------------


def _read_fields(encoded: bytes) -> Iterator[_Field]:
    place = 0
    while place < len(encoded):
        key, place = _read_varint(encoded, place)
        value, place = _read_varint(encoded, place)
        if key & 7 == _LENGTH:
            begin, place = place, place + value
            if place > len(encoded):
                raise FrameError(f"field {key >> 3} ends {place - len(encoded)} bytes after its message")
            yield key >> 3, encoded[begin:place]
        elif key & 7 == _VARINT:
            yield key >> 3, value
        else:
            raise FrameError(f"field {key >> 3} has wire type {key & 7}; known: 0 and 2")


def _read_varint(encoded: bytes, place: int) -> tuple[int, int]:
    value = 0
    for count, byte in enumerate(encoded[place : place + _VARINT_BYTES_MAX]):
        value |= (byte & 0x7F) << 7 * count
        if byte < 0x80:
            return value, place + count + 1
    raise FrameError(f"a number at byte {place} does not end within {_VARINT_BYTES_MAX} bytes")


def _write_varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _number(field: int, value: int) -> bytes:
    return _write_varint(field << 3 | _VARINT) + _write_varint(value)


def _item(field: int, value: bytes) -> bytes:
    return _write_varint(field << 3 | _LENGTH) + _write_varint(len(value)) + value
