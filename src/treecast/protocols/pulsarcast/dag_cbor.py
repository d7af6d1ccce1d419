"""Canonical DAG-CBOR, written part by part, and read back.

Each function but `read` returns one encoded item; whoever writes says of each field what it
is, so that a byte string that looks like a link stays one. Canonical: shortest heads, definite
lengths, map keys by length and then bytewise. docs/decisions/0041 says why it is written here.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import libipld

NULL = b"\xf6"
_NUMBER, _BYTES, _TEXT, _ARRAY, _MAP, _TAG = 0, 2, 3, 4, 5, 6
_LINK_TAG = 42


def _head(major: int, number: int) -> bytes:
    if number < 24:
        return bytes((major << 5 | number,))
    for code, size in ((24, 1), (25, 2), (26, 4)):
        if number < 1 << 8 * size:
            return bytes((major << 5 | code,)) + number.to_bytes(size, "big")
    return bytes((major << 5 | 27,)) + number.to_bytes(8, "big")


def number(value: int) -> bytes:
    """From 0 to 2^64 - 1."""
    return _head(_NUMBER, value)


def boolean(value: bool) -> bytes:
    return b"\xf5" if value else b"\xf4"


def octets(value: bytes) -> bytes:
    return _head(_BYTES, len(value)) + value


def text(value: str) -> bytes:
    encoded = value.encode()
    return _head(_TEXT, len(encoded)) + encoded


def link(cid: bytes) -> bytes:
    """A CID, behind the multibase prefix of plain bytes."""
    return _head(_TAG, _LINK_TAG) + octets(b"\0" + cid)


def array(items: Iterable[bytes]) -> bytes:
    parts = list(items)
    return _head(_ARRAY, len(parts)) + b"".join(parts)


def mapping(items: Mapping[str, bytes]) -> bytes:
    parts = sorted((len(key), key, item) for key, item in ((text(key), item) for key, item in items.items()))
    return _head(_MAP, len(parts)) + b"".join(key + item for _, key, item in parts)


def read(encoded: bytes) -> Any:
    """The value; links come as bytes. `ValueError` when there is none.

    It may take what is not canonical: compare it with what you would write.
    """
    try:
        return libipld.decode_dag_cbor(encoded)
    except RecursionError:
        raise ValueError("nested too deep") from None
