"""A journal's rows as plain Python values, a slice at a time.

A checker walks over millions of rows: it reads numbers and shared strings from lists,
and never holds more of them than one slice. Numbers that a row lacks read as `NOTHING`.
"""

import sys
from array import array
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from treecast.core import JournalError
from treecast.journal import Kind, validate_journal

NOTHING = -1
"""Stands for null: ids, counters and times in a journal are never negative."""

_SLICE_ROWS = 1 << 16

_NEEDED = {
    Kind.PUBLISH: ("topic", "source", "sequence"),
    Kind.DELIVER: ("topic", "source", "sequence"),
    Kind.SUBSCRIBE: ("topic",),
    Kind.JOINED: ("topic",),
    Kind.UNSUBSCRIBE: ("topic",),
    Kind.SEND: ("message", "peer"),
    Kind.RECEIVE: ("message", "peer"),
    Kind.REGISTER: ("topic",),
    Kind.UNREGISTER: ("topic",),
    Kind.SUSPECT: ("peer",),
    Kind.TRUST: ("peer",),
    Kind.HANGS: ("topic",),
    Kind.CUT_OFF: ("topic",),
    Kind.ACCEPTED: ("source", "sequence"),
    Kind.GIVEN_UP: ("source", "sequence"),
}
"""What a row of each kind must hold, beside run, time, node and kind."""


def prepare(journal: pa.Table) -> pa.Table:
    """The journal as the checkers want it: one run, ordered by time, one dictionary for all chunks."""
    validate_journal(journal, "the journal to check")
    _check_values(journal)
    runs = pc.unique(journal["run"].cast(pa.string())).to_pylist()
    if len(runs) > 1:
        raise JournalError(
            f"the journal to check holds {len(runs)} runs ({', '.join(map(repr, runs[:3]))} ...); "
            "check them one at a time"
        )
    times = journal["time_us"].combine_chunks()
    if len(times) > 1:
        back = pc.indices_nonzero(pc.less(times[1:], times[:-1]))
        if len(back):
            row = back[0].as_py() + 1
            raise JournalError(
                f"the journal to check goes back in time at row {row}, from {times[row - 1].as_py()} us "
                f"to {times[row].as_py()} us; a journal is ordered by (time_us, node): see sorted_journal"
            )
    return journal.unify_dictionaries()


def _check_values(journal: pa.Table) -> None:
    """Raise unless each row says what a row of its kind is about, in numbers that there can be."""
    for column in ("time_us", "node", "source", "sequence", "peer", "barrier_size"):
        lowest = pc.min(journal[column]).as_py()
        if lowest is not None and lowest < 0:
            raise JournalError(
                f"the journal to check: column {column!r} holds {lowest}; numbers are 0 or above"
            )
    kinds = journal["kind"].cast(pa.string())
    for kind, needed in _NEEDED.items():
        for column in needed:
            if not journal[column].null_count:
                continue
            bare = pc.and_(pc.equal(kinds, str(kind)), journal[column].is_null())
            missing = pc.sum(bare).as_py()
            if missing:
                raise JournalError(
                    f"the journal to check: column {column!r} is empty in {missing} {kind} rows; "
                    f"each needs {', '.join(needed)}"
                )


def select(journal: pa.Table, kinds: Sequence[Kind], columns: Sequence[str], message: str = "") -> pa.Table:
    """The rows of `kinds`: their numbers in the journal as column `row`, then `columns`.

    With `message`, rows about messages of other kinds are left out.
    """
    wanted = pc.is_in(journal["kind"], value_set=pa.array([str(kind) for kind in kinds], pa.string()))
    if message:
        wanted = pc.and_(wanted, pc.fill_null(pc.equal(journal["message"], message), True))
    numbers = pc.indices_nonzero(wanted)
    return journal.select(list(columns)).take(numbers).add_column(0, "row", numbers.cast(pa.int64()))


def walk(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    """Every row, one value a column."""
    for batch in table.to_batches(max_chunksize=_SLICE_ROWS):
        yield from zip(*map(_values, batch.columns), strict=True)


def holds_messages(journal: pa.Table) -> bool:
    """Whether the journal tells of sending or receiving at all; one of level `deliveries` does not."""
    hops = pc.is_in(journal["kind"], value_set=pa.array([str(Kind.SEND), str(Kind.RECEIVE)], pa.string()))
    return bool(pc.any(hops).as_py())


NO_MESSAGES = "the journal holds no send or receive rows; write it with level 'all'"


def _values(column: pa.Array) -> list[Any]:
    if pa.types.is_dictionary(column.type):
        names = [None if name is None else sys.intern(name) for name in column.dictionary.to_pylist()]
        names.append(None)
        return [names[code] for code in _numbers(pc.fill_null(column.indices, len(names) - 1))]
    return _numbers(pc.fill_null(column, NOTHING))


def _numbers(column: pa.Array) -> list[int]:
    """Much faster than `to_pylist`, which makes an object of Arrow's for every value first."""
    if not len(column):
        return []
    width = column.type.bit_width // 8
    values = array("i" if width == 4 else "q")
    values.frombytes(memoryview(column.buffers()[1])[column.offset * width :][: len(column) * width])
    return values.tolist()
