"""What happened in a run, as one table: written by simulator and nodes, read by checkers and Spark."""

from treecast.journal.schema import (
    HEALED_KEY,
    JOURNAL_VERSION,
    QUIET_KEY,
    RELAYS_KEY,
    SCHEMA,
    VERSION_KEY,
    Kind,
)
from treecast.journal.store import (
    JOURNAL_FILE,
    ended_quietly,
    healed_at,
    journal_from_rows,
    journal_hash,
    mark_healed,
    mark_quiet,
    mark_relays,
    read_journal,
    sorted_journal,
    validate_journal,
    who_relays,
    write_journal,
)

__all__ = [
    "HEALED_KEY",
    "JOURNAL_FILE",
    "JOURNAL_VERSION",
    "QUIET_KEY",
    "RELAYS_KEY",
    "SCHEMA",
    "VERSION_KEY",
    "Kind",
    "ended_quietly",
    "healed_at",
    "journal_from_rows",
    "journal_hash",
    "mark_healed",
    "mark_quiet",
    "mark_relays",
    "read_journal",
    "sorted_journal",
    "validate_journal",
    "who_relays",
    "write_journal",
]
