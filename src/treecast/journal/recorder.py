"""Collects a journal's rows while a run goes on and makes the table at its end."""

from typing import Any

import pyarrow as pa

from treecast.core import Event, EventId, Message, NodeId, Topic, journal_number
from treecast.journal.schema import SCHEMA
from treecast.journal.store import mark_healed, mark_quiet, mark_relays, sorted_journal

_CHUNK_ROWS = 1 << 16
"""Rows are kept as tuples up to here and as Arrow after: a tenth of the memory."""

Row = tuple[int, NodeId, str, str | None, str | None, NodeId | None, int | None, NodeId | None, int | None]


class Recorder:
    """One journal in the making. Rows may come in any order of nodes, in order at each node."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._rows: list[Row] = []
        self._chunks: list[pa.Table] = []

    def message(self, kind: str, now_us: int, node: NodeId, message: Message, peer: NodeId) -> None:
        origin, event = message.origin, message.event
        self._append(
            (
                now_us,
                node,
                kind,
                message.kind,
                message.topic,
                origin.publisher if origin else None,
                origin.sequence if origin else None,
                peer,
                len(event.parents) if event else None,
            )
        )

    def event(self, kind: str, now_us: int, node: NodeId, event: Event) -> None:
        publisher, sequence = event.id
        size = len(event.parents)
        self._append((now_us, node, kind, None, event.topic, publisher, sequence, None, size))

    def membership(self, kind: str, now_us: int, node: NodeId, topic: Topic) -> None:
        self._append((now_us, node, kind, None, topic, None, None, None, None))

    def tree(self, kind: str, now_us: int, node: NodeId, topic: Topic, parent: NodeId | None) -> None:
        self._append((now_us, node, kind, None, topic, None, None, parent, None))

    def answer(self, now_us: int, node: NodeId, request: EventId, event: EventId | None) -> None:
        if event is None:
            self._append((now_us, node, "given_up", None, None, *request, None, None))
        else:
            self._append((now_us, node, "accepted", None, None, *event, None, None))

    def peer(self, kind: str, now_us: int, node: NodeId, peer: NodeId) -> None:
        self._append((now_us, node, kind, None, None, None, None, peer, None))

    def node(self, kind: str, now_us: int, node: NodeId) -> None:
        self._append((now_us, node, kind, None, None, None, None, None, None))

    def finish(self, *, quiet: bool, relays: str, healed_us: int | None = None) -> pa.Table:
        """The journal, ordered by time and node, with what its metadata note (`journal.schema`)."""
        self._flush()
        table = pa.concat_tables(self._chunks) if self._chunks else SCHEMA.empty_table()
        self._chunks = []
        table = sorted_journal(table).unify_dictionaries().combine_chunks()
        table = mark_relays(mark_quiet(table, quiet), relays)
        return table if healed_us is None else mark_healed(table, healed_us)

    def _append(self, row: Row) -> None:
        self._rows.append(row)
        if len(self._rows) >= _CHUNK_ROWS:
            self._flush()

    def _flush(self) -> None:
        if not self._rows:
            return
        columns: list[list[Any]] = [list(column) for column in zip(*self._rows, strict=True)]
        for position in (1, 5, 7):  # node, source, peer
            columns[position] = [None if node is None else journal_number(node) for node in columns[position]]
        columns.insert(0, [self._run] * len(self._rows))
        arrays = [pa.array(values, type=field.type) for values, field in zip(columns, SCHEMA, strict=True)]
        self._chunks.append(pa.Table.from_arrays(arrays, schema=SCHEMA))
        self._rows.clear()
