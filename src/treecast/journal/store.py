"""The journal on disk, and its hash.

Invariants:
- the same rows give the same file, byte for byte, under one version of pyarrow, and the
  same hash under any: neither sees chunks, nor how a dictionary happens to be coded;
- a file under the journal's name is whole: it is written beside and moved there;
- what `read_journal` returns has the schema of this version, or it raises `JournalError`.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from treecast.core import JournalError
from treecast.journal.schema import (
    HEALED_KEY,
    HIERARCHY_KEY,
    JOURNAL_VERSION,
    PROMISES_KEY,
    QUIET_KEY,
    RELAYS_KEY,
    SCHEMA,
    VERSION_KEY,
    Kind,
)

JOURNAL_FILE = "journal.parquet"

_ROWS_PER_GROUP = 1 << 20
_MAGIC = b"PAR1"
_KINDS = tuple(str(kind) for kind in Kind)


def write_journal(table: pa.Table, directory: str | Path) -> Path:
    """Write `table` as `directory`/journal.parquet, replacing what is there; its metadata is kept."""
    validate_journal(table, "the journal to write")
    path = Path(directory) / JOURNAL_FILE
    part = path.with_name(JOURNAL_FILE + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(
            _canonical(table),
            part,
            compression="zstd",
            row_group_size=_ROWS_PER_GROUP,
            write_page_checksum=True,
        )
        os.replace(part, path)
    except OSError as error:
        raise JournalError(
            f"{path}: cannot be written ({_reason(error)}); name a folder with room that you may write to"
        ) from error
    return path


def read_journal(path: str | Path) -> pa.Table:
    """Read a journal from its file, or from the folder that a run wrote."""
    path = Path(path)
    if path.is_dir():
        path = path / JOURNAL_FILE
    if not path.is_file():
        raise JournalError(
            f"{path}: there is no journal here; give the folder that 'treecast simulate --out' wrote, "
            f"or its {JOURNAL_FILE}"
        )
    try:
        _check_ends(path)
        with pq.ParquetFile(path, page_checksum_verification=True) as parquet:
            _check_version(parquet.schema_arrow, str(path))
            _check_columns(parquet.schema_arrow, str(path))
            table = parquet.read()
        table.validate(full=True)
        validate_journal(table, str(path))
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise JournalError(
            f"{path}: damaged or unreadable ({_reason(error)}); write it anew by running the scenario again"
        ) from error
    return table


_NOTES = {
    QUIET_KEY: (re.compile(rb"[01]"), "0 or 1"),
    RELAYS_KEY: (re.compile(rb"subscribers|anyone"), "subscribers or anyone"),
    HEALED_KEY: (re.compile(rb"[0-9]{1,18}"), "whole microseconds"),
    PROMISES_KEY: (
        re.compile(rb"(causal order|completeness|delivered was received|no parasites|,)*"),
        "rules, separated by commas",
    ),
}
"""What may stand under each key of the metadata."""


def validate_journal(table: pa.Table, where: str) -> None:
    """Raise `JournalError` unless `table` has this version's schema and notes, known kinds and no gaps."""
    _check_version(table.schema, where)
    _check_columns(table.schema, where)
    _check_notes(table.schema, where)
    for field in SCHEMA:
        nulls = table[field.name].null_count
        if nulls and not field.nullable:
            raise JournalError(
                f"{where}: column {field.name!r} is empty in {nulls} rows; every row needs a {field.name}"
            )
    for kind in _values_used(table["kind"]):
        if kind not in _KINDS:
            raise JournalError(f"{where}: rows of unknown kind {kind!r}; known are {', '.join(_KINDS)}")


def journal_hash(table: pa.Table) -> str:
    """The sha-256 of the rows in their order, as hexadecimal digits; metadata does not enter."""
    validate_journal(table, "the journal to hash")
    digest = hashlib.sha256(f"treecast journal {JOURNAL_VERSION}, {table.num_rows} rows".encode())
    for field in SCHEMA:
        digest.update(f"\0{field.name}\0".encode())
        column = table[field.name]
        if pa.types.is_dictionary(field.type):
            names = _values_used(column)
            for name in names:
                text = name.encode()
                digest.update(f"{len(text)}:".encode() + text)
            codes = pa.array(names, pa.string())
            for chunk in column.chunks:
                digest.update(_as_bytes(pc.fill_null(_coded(chunk, codes), -1)))
        else:
            for chunk in column.chunks:
                digest.update(_as_bytes(pc.fill_null(chunk.cast(pa.int64()), 0)))
            # A null and a zero are different rows, so where values stand is hashed as well.
            for chunk in column.chunks:
                digest.update(_as_bytes(chunk.is_valid().cast(pa.int8())))
    return digest.hexdigest()


def sorted_journal(table: pa.Table) -> pa.Table:
    """By (time_us, node); rows of one node and instant keep their order."""
    return table.take(pc.sort_indices(table, sort_keys=[("time_us", "ascending"), ("node", "ascending")]))


def mark_quiet(table: pa.Table, quiet: bool) -> pa.Table:
    """The same rows, with the note whether all that was to happen had happened (`QUIET_KEY`)."""
    return _noted(table, QUIET_KEY, b"1" if quiet else b"0")


def ended_quietly(table: pa.Table) -> bool | None:
    """What `mark_quiet` noted; None when nobody did."""
    note = _note(table, QUIET_KEY)
    return None if note is None else bool(note == b"1")


def mark_relays(table: pa.Table, relays: str) -> pa.Table:
    """The same rows, with the note who may carry a topic's events (`RELAYS_KEY`)."""
    return _noted(table, RELAYS_KEY, relays.encode())


def who_relays(table: pa.Table) -> str | None:
    """What `mark_relays` noted: "subscribers" or "anyone"; None when nobody did."""
    note = _note(table, RELAYS_KEY)
    return None if note is None else note.decode()


def mark_healed(table: pa.Table, healed_us: int) -> pa.Table:
    """The same rows, with the note when the last fault had healed (`HEALED_KEY`)."""
    return _noted(table, HEALED_KEY, str(healed_us).encode())


def healed_at(table: pa.Table) -> int | None:
    """What `mark_healed` noted, in microseconds; None when there was no fault."""
    note = _note(table, HEALED_KEY)
    return None if note is None else int(note)


def mark_promises(table: pa.Table, promises: Sequence[str]) -> pa.Table:
    """The same rows, with the note which rules the protocol means to keep (`PROMISES_KEY`)."""
    return _noted(table, PROMISES_KEY, ",".join(promises).encode())


def promises_of(table: pa.Table) -> tuple[str, ...] | None:
    """What `mark_promises` noted; None when nobody did."""
    note = _note(table, PROMISES_KEY)
    return None if note is None else tuple(each for each in note.decode().split(",") if each)


def mark_hierarchy(table: pa.Table, parents: Mapping[str, Sequence[str]]) -> pa.Table:
    """The same rows, with the note which topics include which (`HIERARCHY_KEY`)."""
    plain = {topic: list(each) for topic, each in parents.items()}
    return _noted(table, HIERARCHY_KEY, json.dumps(plain, ensure_ascii=False, sort_keys=True).encode())


def hierarchy_of(table: pa.Table) -> dict[str, list[str]] | None:
    """What `mark_hierarchy` noted; None when nobody did."""
    note = _note(table, HIERARCHY_KEY)
    if note is None:
        return None
    try:
        found = json.loads(note)
    except ValueError:
        found = None
    right = isinstance(found, dict) and all(
        isinstance(parents, list) and all(isinstance(each, str) for each in parents)
        for parents in found.values()
    )
    if not right:
        raise JournalError(
            f"the journal's {HIERARCHY_KEY.decode()!r} is {note[:60].decode(errors='backslashreplace')!r}; "
            "a journal has a JSON object there, a list of topics under each topic"
        )
    return dict(found)


def _noted(table: pa.Table, key: bytes, note: bytes) -> pa.Table:
    return table.replace_schema_metadata({**(table.schema.metadata or {}), key: note})


def _note(table: pa.Table, key: bytes) -> bytes | None:
    _check_notes(table.schema, "the journal")
    found: bytes | None = (table.schema.metadata or {}).get(key)
    return found


def journal_from_rows(
    rows: Iterable[Mapping[str, Any] | Sequence[Any]], run: str = "run", quiet: bool | None = None
) -> pa.Table:
    """A journal of these rows in this order, each a mapping by column or values in the columns' order.

    The column `run` is left out of the rows; what a row does not say is null.
    """
    names = [field.name for field in SCHEMA if field.name != "run"]
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for number, row in enumerate(rows):
        values = dict(row) if isinstance(row, Mapping) else dict(zip(names, row, strict=False))
        unknown = values.keys() - columns.keys()
        if unknown or len(row) > len(names):
            extra = f"unknown column {min(unknown)!r}" if unknown else f"{len(row)} values"
            raise JournalError(f"row {number}: {extra}; the columns are {', '.join(names)}")
        for name in names:
            columns[name].append(values.get(name))
    size = len(columns["node"])
    arrays = [pa.array(columns.get(field.name, [run] * size), field.type) for field in SCHEMA]
    table = pa.table(arrays, schema=SCHEMA)
    return table if quiet is None else mark_quiet(table, quiet)


def _check_ends(path: Path) -> None:
    """A Parquet file begins and ends with its mark: without the one it is none, without the other cut."""
    with path.open("rb") as file:
        head = file.read(len(_MAGIC))
        file.seek(-min(len(_MAGIC), file.seek(0, os.SEEK_END)), os.SEEK_END)
        tail = file.read()
    if head != _MAGIC:
        raise JournalError(f"{path}: not a Parquet file; a journal is the {JOURNAL_FILE} of a run")
    if tail != _MAGIC:
        raise JournalError(
            f"{path}: cut short, its end is missing; write it anew by running the scenario again"
        )


def _check_version(schema: pa.Schema, where: str) -> None:
    version = (schema.metadata or {}).get(VERSION_KEY)
    if version is None:
        raise JournalError(
            f"{where}: no journal, its schema carries no {VERSION_KEY.decode()!r}; "
            "a journal is written by treecast only"
        )
    if version != str(JOURNAL_VERSION).encode():
        raise JournalError(
            f"{where}: a journal of version {version.decode(errors='backslashreplace')!r}; "
            f"this treecast reads version {JOURNAL_VERSION}: run the scenario again with it"
        )


def _check_columns(schema: pa.Schema, where: str) -> None:
    for field in SCHEMA:
        found = [other for other in schema if other.name == field.name]
        if len(found) != 1:
            what = "is missing" if not found else f"is there {len(found)} times"
            raise JournalError(
                f"{where}: column {field.name!r} {what}; a journal has it once, as {field.type}"
            )
        if found[0].type != field.type:
            raise JournalError(
                f"{where}: column {field.name!r} holds {found[0].type}; a journal has it as {field.type}"
            )
    for name in schema.names:
        if name not in SCHEMA.names:
            raise JournalError(
                f"{where}: unknown column {name!r}; a journal has only {', '.join(SCHEMA.names)}"
            )


def _check_notes(schema: pa.Schema, where: str) -> None:
    for key, (form, right) in _NOTES.items():
        note = (schema.metadata or {}).get(key)
        if note is not None and not form.fullmatch(note):
            shown = note[:40].decode(errors="backslashreplace")
            raise JournalError(
                f"{where}: the note {key.decode()!r} is {shown!r}; a journal has {right} there"
            )


def _canonical(table: pa.Table) -> pa.Table:
    """The same rows in one form: columns in order, one chunk each, dictionaries sorted and without spares."""
    columns = []
    for field in SCHEMA:
        column = table[field.name]
        if pa.types.is_dictionary(field.type):
            names = pa.array(_values_used(column), pa.string())
            codes = pa.chunked_array([_coded(chunk, names) for chunk in column.chunks], pa.int32())
            columns.append(pa.DictionaryArray.from_arrays(codes.combine_chunks(), names))
        else:
            columns.append(column.combine_chunks())
    return pa.table(columns, schema=SCHEMA.with_metadata(_sorted_metadata(table)))


def _sorted_metadata(table: pa.Table) -> dict[bytes, bytes]:
    return dict(sorted((table.schema.metadata or {}).items()))


def _values_used(column: pa.ChunkedArray) -> list[str]:
    """The distinct texts that rows hold, sorted; a dictionary may list others."""
    used: set[str | None] = set()
    for chunk in column.chunks:
        used.update(chunk.dictionary.take(chunk.indices.unique().drop_null()).to_pylist())
    return sorted(name for name in used if name is not None)


def _coded(chunk: pa.DictionaryArray, names: pa.StringArray) -> pa.Int32Array:
    """Each row's place in `names`, null where it has none."""
    return pc.index_in(chunk.dictionary, value_set=names).take(chunk.indices)


def _as_bytes(values: pa.Array) -> memoryview:
    """The values of a fixed-width array without nulls, as they lie in memory."""
    width = values.type.bit_width // 8
    buffer = values.buffers()[1]
    if buffer is None:
        return memoryview(b"")
    return memoryview(buffer)[values.offset * width : (values.offset + len(values)) * width]


def _reason(error: BaseException) -> str:
    """The first line of what an error says, without the file's name, which stands before it already."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text.splitlines()[0] if text else type(error).__name__
