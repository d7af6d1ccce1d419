"""The live bar of a running simulation, on stderr and only on a terminal.

The end of a run is known only when the scenario sets one (`until_ms`). Otherwise the
bar shows the share of the planned publications that have begun, and stays full while
the last messages fly; with nothing to publish it pulses.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treecast.sim import Progress
    from treecast.sim.scenario import Scenario


@contextmanager
def progress_bar(scenario: "Scenario") -> Iterator["Callable[[Progress], None] | None"]:
    """Show a bar while the block runs; yields what `simulate` is to call, None off a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bars

    figures = "{task.fields[figures]}"
    columns = (BarColumn(bar_width=16), TextColumn(figures, markup=False))
    until_us = None if scenario.until_ms is None else scenario.until_ms * 1000
    begun_s = time.perf_counter()
    with Bars(*columns, console=Console(stderr=True)) as bars:
        bar = bars.add_task("simulating", total=None, figures="")

        def show(now: "Progress") -> None:
            done, total = _share(now, until_us)
            elapsed_s = max(time.perf_counter() - begun_s, 1e-6)
            bars.update(bar, completed=done, total=total, figures=figures_of(now, elapsed_s))

        yield show


def _share(now: "Progress", until_us: float | None) -> tuple[float, float | None]:
    if until_us is not None:
        return min(now.now_us, until_us), until_us
    return now.published, now.planned or None


def figures_of(now: "Progress", elapsed_s: float) -> str:
    """The numbers beside the bar, in two lines so that 80 columns hold them."""
    return (
        f"{now.now_us / 1_000_000:,.1f} s simulated · "
        f"{now.hops:,} hops, {now.hops / elapsed_s:,.0f} a second\n"
        f"{now.published:,} of {now.planned:,} published · {now.delivered:,} delivered"
    )
