"""Judge a journal, knowing nothing of the protocol that wrote it.

The checkers see what nodes and applications did, never a protocol's clocks, barriers or
views: a fault in those cannot hide itself. One module a family of rules; each says what
it derives from which rows.
"""

import pyarrow as pa

from treecast.checkers.causal import check_causal_order
from treecast.checkers.completeness import check_completeness
from treecast.checkers.delivery import check_deliveries
from treecast.checkers.network import check_network
from treecast.checkers.overlay import check_overlay
from treecast.checkers.report import LISTED_MAX, Report, Verdict, Violation
from treecast.checkers.rows import prepare

__all__ = ["LISTED_MAX", "Report", "Verdict", "Violation", "check"]


def check(journal: pa.Table) -> Report:
    """Judge one run's journal by every rule; `JournalError` when it is no such journal."""
    rows = prepare(journal)
    overlay, overlay_figures = check_overlay(rows)
    network, network_figures = check_network(rows)
    return Report(
        verdicts=(
            check_causal_order(rows),
            *check_deliveries(rows),
            *check_completeness(rows),
            overlay,
            network,
        ),
        figures={**overlay_figures, **network_figures},
    )
