"""The journal's file and hash."""

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treecast.core import JournalError
from treecast.journal import (
    HEALED_KEY,
    JOURNAL_FILE,
    QUIET_KEY,
    RELAYS_KEY,
    SCHEMA,
    VERSION_KEY,
    Kind,
    ended_quietly,
    healed_at,
    journal_from_rows,
    journal_hash,
    mark_healed,
    mark_quiet,
    mark_relays,
    read_journal,
    sorted_journal,
    who_relays,
    write_journal,
)

NAMES = st.none() | st.sampled_from(["PUB", "SUB", "chat", "soccer.italy", "", "é"])
NUMBERS = st.none() | st.integers(0, 2) | st.integers(0, 2**63 - 1)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "time_us": st.integers(0, 3),
            "node": st.integers(0, 3),
            "kind": st.sampled_from(list(Kind)).map(str),
            "message": NAMES,
            "topic": NAMES,
            "source": NUMBERS,
            "sequence": NUMBERS,
            "peer": NUMBERS,
            "barrier_size": st.none() | st.integers(0, 2**31 - 1),
        }
    ),
    max_size=8,
)
FEW: list[tuple[Any, ...]] = [
    (0, 3, "subscribe", None, "chat"),
    (5, 1, "publish", None, "chat", 1, 7, None, 0),
    (9, 3, "receive", "PUB", "chat", 1, 7, 1, 0),
]
QUICK = settings(max_examples=60, deadline=None)


def rearranged(table: pa.Table, cut: int) -> pa.Table:
    """The same rows in two chunks, with dictionaries that list other values too, in another order."""
    arrays = []
    for field in SCHEMA:
        column = table[field.name]
        if pa.types.is_dictionary(field.type):
            values = column.to_pylist()
            names = [
                "spare",
                *sorted({value for value in values if value is not None}, reverse=True),
                "unused",
            ]
            codes = [None if value is None else names.index(value) for value in values]
            column = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(names, pa.string()))
        arrays.append(column)
    whole = pa.table(arrays, schema=table.schema)
    return pa.concat_tables([whole.slice(0, cut), whole.slice(cut)])


@QUICK
@given(ROWS, st.sampled_from([None, True, False]))
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, rows: Any, quiet: bool | None
) -> None:
    table = journal_from_rows(rows, run="r", quiet=quiet)
    folder = tmp_path_factory.mktemp("run")
    path = write_journal(table, folder)
    for place in (folder, path, str(path)):
        found = read_journal(place)
        assert found.to_pylist() == table.to_pylist()
        assert found.schema.equals(table.schema, check_metadata=True)
        assert ended_quietly(found) is quiet
    assert [each.name for each in folder.iterdir()] == [JOURNAL_FILE]


@QUICK
@given(ROWS, st.integers(0, 8))
def test_neither_file_nor_hash_sees_how_the_table_lies_in_memory(
    tmp_path_factory: pytest.TempPathFactory, rows: Any, cut: int
) -> None:
    table = journal_from_rows(rows)
    other = rearranged(table, min(cut, table.num_rows))
    assert journal_hash(other) == journal_hash(table)
    folder = tmp_path_factory.mktemp("run")
    first = write_journal(table, folder / "a").read_bytes()
    assert write_journal(other, folder / "b").read_bytes() == first


@QUICK
@given(ROWS, ROWS)
def test_other_rows_have_another_hash(one: Any, other: Any) -> None:
    first, second = journal_from_rows(one), journal_from_rows(other)
    assert (journal_hash(first) == journal_hash(second)) == (first.to_pylist() == second.to_pylist())


@QUICK
@given(ROWS, st.data())
def test_one_other_value_gives_another_hash(rows: Any, data: st.DataObject) -> None:
    table = journal_from_rows(rows)
    if not rows:
        return
    at = data.draw(st.integers(0, len(rows) - 1))
    column = data.draw(st.sampled_from(["message", "topic", "source", "sequence", "peer", "barrier_size"]))
    values = {"message": NAMES, "topic": NAMES, "barrier_size": st.none() | st.integers(0, 1)}
    value = data.draw(values.get(column, NUMBERS))
    changed = journal_from_rows([*rows[:at], {**rows[at], column: value}, *rows[at + 1 :]])
    assert (journal_hash(changed) == journal_hash(table)) == (rows[at][column] == value)


def test_the_hash_is_the_same_on_every_machine() -> None:
    """A change here makes every published hash worthless: raise the journal's version then."""
    assert journal_hash(journal_from_rows(FEW, run="r")) == (
        "e8b1d249b866b4e9ee8fdb31764b31fea9aaea02e37dbd20cc03a395b4811ea6"
    )


def test_the_hash_is_of_rows_in_their_order_and_not_of_the_note() -> None:
    table = journal_from_rows(FEW)
    assert journal_hash(mark_quiet(table, True)) == journal_hash(table)
    assert journal_hash(journal_from_rows(FEW[::-1])) != journal_hash(table)
    assert journal_hash(journal_from_rows(FEW, run="other")) != journal_hash(table)


def test_notes_stand_beside_one_another_and_are_kept_on_disk(tmp_path: Path) -> None:
    plain = journal_from_rows(FEW)
    assert (ended_quietly(plain), who_relays(plain), healed_at(plain)) == (None, None, None)
    table = mark_healed(mark_relays(mark_quiet(plain, False), "anyone"), 1_500)
    for found in (table, read_journal(write_journal(table, tmp_path))):
        assert (ended_quietly(found), who_relays(found), healed_at(found)) == (False, "anyone", 1_500)
    assert journal_hash(table) == journal_hash(plain)


@pytest.mark.parametrize(
    ("key", "note", "right"),
    [
        (HEALED_KEY, b"soon", "whole microseconds"),
        (HEALED_KEY, b"9" * 5_000, "whole microseconds"),
        (HEALED_KEY, b"-1", "whole microseconds"),
        (RELAYS_KEY, b"\xff\xfe", "subscribers or anyone"),
        (RELAYS_KEY, b"nobody", "subscribers or anyone"),
        (QUIET_KEY, b"yes", "0 or 1"),
        (QUIET_KEY, b"", "0 or 1"),
    ],
)
def test_a_note_that_cannot_be_is_refused(key: bytes, note: bytes, right: str, tmp_path: Path) -> None:
    metadata = {**(SCHEMA.metadata or {}), key: note}
    table = journal_from_rows(FEW).replace_schema_metadata(metadata)
    why = rf"'{re.escape(key.decode())}' is '.*'; a journal has {right} there"
    for read in (ended_quietly, who_relays, healed_at, journal_hash):
        with pytest.raises(JournalError, match=why):
            read(table)
    pq.write_table(table, tmp_path / JOURNAL_FILE)
    with pytest.raises(JournalError, match=why):
        read_journal(tmp_path)


@QUICK
@given(ROWS, st.integers(0, 8))
def test_sorting_keeps_the_order_of_a_node_s_instant(rows: Any, cut: int) -> None:
    table = mark_quiet(journal_from_rows(rows), True)
    expected = sorted(table.to_pylist(), key=lambda row: (row["time_us"], row["node"]))
    assert sorted_journal(table).to_pylist() == expected
    assert sorted_journal(rearranged(table, min(cut, len(rows)))).to_pylist() == expected
    assert ended_quietly(sorted_journal(table)) is True


def test_rows_may_be_mappings_or_values() -> None:
    by_name = [{"time_us": 0, "node": 3, "kind": "subscribe", "topic": "chat"}]
    assert journal_from_rows(by_name).equals(journal_from_rows(FEW[:1]))


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ({"nod": 1}, "row 0: unknown column 'nod'; the columns are"),
        ((0,) * 10, "row 0: 10 values; the columns are"),
    ],
)
def test_a_row_that_does_not_fit_is_refused(row: Any, what: str) -> None:
    with pytest.raises(JournalError, match=re.escape(what)):
        journal_from_rows([row])


def test_a_folder_that_cannot_be_made_is_an_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError, match="cannot be written"):
        write_journal(journal_from_rows(FEW), tmp_path / "file")


def test_writing_replaces_what_was_there(tmp_path: Path) -> None:
    write_journal(journal_from_rows(FEW), tmp_path)
    write_journal(journal_from_rows(FEW[:1]), tmp_path)
    assert read_journal(tmp_path).num_rows == 1


def _with(path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    pq.write_table(change(journal_from_rows(FEW)), path)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def _overwrite_middle(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + bytes(len(whole) - 8) + whole[-4:])


def _retyped(table: pa.Table) -> pa.Table:
    return table.set_column(2, pa.field("node", pa.string()), [pa.array(["a", "b", "c"])])


def _with_gap(table: pa.Table) -> pa.Table:
    return table.set_column(2, pa.field("node", pa.int64()), [pa.array([1, None, 3], pa.int64())])


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (Path.unlink, "there is no journal here; give the folder"),
    "text": (lambda path: path.write_text("hello, world"), "not a Parquet file"),
    "empty": (lambda path: path.write_bytes(b""), "not a Parquet file"),
    "short": (lambda path: path.write_bytes(b"PA"), "not a Parquet file"),
    "only the mark": (lambda path: path.write_bytes(b"PAR1"), "damaged or unreadable"),
    "cut short": (_cut, "cut short, its end is missing"),
    "overwritten": (_overwrite_middle, "damaged or unreadable"),
    "of another version": (
        lambda path: _with(path, lambda table: table.replace_schema_metadata({VERSION_KEY: b"99"})),
        "a journal of version '99'; this treecast reads version 1",
    ),
    "no journal": (
        lambda path: _with(path, lambda table: table.replace_schema_metadata(None)),
        "no journal, its schema carries no 'treecast.journal'",
    ),
    "without a column": (
        lambda path: _with(path, lambda table: table.drop_columns(["peer"])),
        "column 'peer' is missing; a journal has it once, as int64",
    ),
    "with a column of another type": (
        lambda path: _with(path, _retyped),
        "column 'node' holds string; a journal has it as int64",
    ),
    "with a column too many": (
        lambda path: _with(path, lambda table: table.append_column("colour", [pa.array([1, 2, 3])])),
        "unknown column 'colour'",
    ),
    "with a gap": (lambda path: _with(path, _with_gap), "column 'node' is empty in 1 rows"),
    "with an unknown kind": (
        lambda path: _with(path, lambda _: journal_from_rows([(0, 0, "explode")])),
        "rows of unknown kind 'explode'; known are publish,",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_that_is_no_journal_gives_one_line_that_says_why(tmp_path: Path, damage: str) -> None:
    make, what = DAMAGES[damage]
    path = write_journal(journal_from_rows(FEW), tmp_path)
    make(path)
    for place in (path, tmp_path):
        with pytest.raises(JournalError) as caught:
            read_journal(place)
        assert what in str(caught.value)
        expected = tmp_path if damage == "missing" and place == tmp_path else path
        assert str(caught.value).startswith(str(expected))
        assert "\n" not in str(caught.value)


@QUICK
@given(st.data())
def test_a_flipped_bit_is_found_or_harmless(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """In the rows, that is: Parquet keeps no checksum of its footer."""
    table = journal_from_rows(FEW)
    path = write_journal(table, tmp_path_factory.mktemp("run"))
    whole = bytearray(path.read_bytes())
    footer = int.from_bytes(whole[-8:-4], "little") + 8
    whole[data.draw(st.integers(0, len(whole) - footer - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(whole)
    with suppress(JournalError):
        assert read_journal(path).to_pylist() == table.to_pylist()


@QUICK
@given(st.data())
def test_a_file_cut_anywhere_is_never_read_as_a_journal(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = write_journal(journal_from_rows(FEW), tmp_path_factory.mktemp("run"))
    whole = path.read_bytes()
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(JournalError):
        read_journal(path)
