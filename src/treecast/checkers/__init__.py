"""Judge a journal, knowing nothing of the protocol that wrote it.

The checkers see what nodes and applications did, never a protocol's clocks, barriers or
views: a fault in those cannot hide itself. One module a family of rules; each says what
it derives from which rows.
"""

import pyarrow as pa

from treecast.checkers.causal import check_causal_order
from treecast.checkers.completeness import check_completeness
from treecast.checkers.delivery import check_deliveries
from treecast.checkers.detection import check_detection
from treecast.checkers.lives import Lives, check_silence
from treecast.checkers.network import check_network
from treecast.checkers.overlay import check_overlay
from treecast.checkers.parasites import check_parasites
from treecast.checkers.report import LISTED_MAX, Report, Verdict, Violation
from treecast.checkers.rows import prepare
from treecast.checkers.trees import check_trees
from treecast.core import UsageError

__all__ = ["LISTED_MAX", "Report", "Verdict", "Violation", "check"]


def check(journal: pa.Table, detection_bound_us: int | None = None) -> Report:
    """Judge one run's journal by every rule; `JournalError` when it is no such journal.

    `detection_bound_us` is how long the protocol may take to notice a crash or a
    recovery; without it that is measured and not judged.
    """
    if detection_bound_us is not None and detection_bound_us < 0:
        raise UsageError(f"the detection bound is {detection_bound_us} us; give 0 or more")
    rows = prepare(journal)
    lives = Lives(rows)
    completeness, completeness_figures = check_completeness(rows, lives)
    detection, detection_figures = check_detection(rows, lives, detection_bound_us)
    overlay, overlay_figures = check_overlay(rows)
    parasites, parasites_figures = check_parasites(rows)
    network, network_figures = check_network(rows)
    trees, trees_figures = check_trees(rows)
    return Report(
        verdicts=(
            check_causal_order(rows),
            *check_deliveries(rows, lives),
            *completeness,
            check_silence(rows, lives),
            detection,
            overlay,
            *parasites,
            *network,
            *trees,
        ),
        figures={
            **completeness_figures,
            **detection_figures,
            **overlay_figures,
            **parasites_figures,
            **network_figures,
            **trees_figures,
        },
    )
