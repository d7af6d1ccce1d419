"""What happened in a run, as one table: written by simulator and nodes, read by checkers and Spark."""

from treecast.journal.schema import JOURNAL_VERSION, QUIET_KEY, SCHEMA, VERSION_KEY, Kind
from treecast.journal.store import (
    JOURNAL_FILE,
    ended_quietly,
    journal_from_rows,
    journal_hash,
    mark_quiet,
    read_journal,
    sorted_journal,
    validate_journal,
    write_journal,
)

__all__ = [
    "JOURNAL_FILE",
    "JOURNAL_VERSION",
    "QUIET_KEY",
    "SCHEMA",
    "VERSION_KEY",
    "Kind",
    "ended_quietly",
    "journal_from_rows",
    "journal_hash",
    "mark_quiet",
    "read_journal",
    "sorted_journal",
    "validate_journal",
    "write_journal",
]
