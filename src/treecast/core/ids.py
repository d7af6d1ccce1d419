"""Node ids: integers under the XOR metric.

Small ids 0..2^d-1 in the papers' experiments, 256-bit ids (the hash of a node's
public key) on real networks; everything above this module takes either.
"""

from typing import TypeAlias

NodeId: TypeAlias = int

ID_BITS = 256
"""The widest id: a sha-256 digest read as a big-endian number."""

_JOURNAL_BITS = 63


def journal_number(node: NodeId) -> int:
    """The signed 64-bit number under which a journal knows `node`.

    A small id stands for itself; of a 256-bit id the top 63 bits are kept, so that
    every node derives the same number alone, and Arrow and Spark compare plain
    integers. Two of n random ids collide with a chance of n^2 / 2^64.
    """
    if node < 1 << _JOURNAL_BITS:
        return node
    return node >> (ID_BITS - _JOURNAL_BITS)
