"""Our figures beside the papers', and how scenarios are run for them: many seeds, two at a time."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from statistics import mean, stdev
from typing import TypeVar

from rich.console import Console
from rich.table import Table

Setting = TypeVar("Setting")
Outcome = TypeVar("Outcome")

WORKERS = 2


def off_by(ours: float, published: float | None) -> str:
    """By how much ours is above or below."""
    return f"{100 * (ours / published - 1):+.1f} %" if published else ""


def spread(values: Sequence[float]) -> str:
    """Mean and standard deviation over runs."""
    return f"{mean(values):,.1f} ({stdev(values):,.1f})" if len(values) > 1 else f"{mean(values):,.1f}"


def table(title: str, left: Iterable[str], right: Iterable[str]) -> Table:
    """An empty one: words to the left, figures to the right."""
    found = Table(title=title)
    for heading in left:
        found.add_column(heading)
    for heading in right:
        found.add_column(heading, justify="right")
    return found


def over_seeds(
    console: Console, run: Callable[[Setting, int], Outcome], settings: Iterable[Setting], runs: int
) -> list[tuple[Setting, list[Outcome]]]:
    """Each setting with what its runs gave, seeds 0 to runs - 1."""
    found = []
    with ProcessPoolExecutor(max_workers=WORKERS) as pool:
        for setting in settings:
            console.print(f"{setting}, {runs} runs ...", style="dim", highlight=False)
            found.append((setting, list(pool.map(run, [setting] * runs, range(runs)))))
    return found
