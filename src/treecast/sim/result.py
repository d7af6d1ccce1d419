"""What a run gave: its journal, if one was kept, and its counters.

Invariant: a result without a journal never imports pyarrow, so that runs which only
count stay small in memory.
"""

import json
import os
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import sqrt
from operator import mul
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from treecast.core import UsageError
from treecast.sim.scenario import Scenario
from treecast.sim.scenario_file import document_of
from treecast.sim.tally import Tally

if TYPE_CHECKING:
    import pyarrow as pa

Ending: TypeAlias = Literal["quiet", "settled", "cut"]
"""Why a run ended: nothing was left to happen, `settle_ms` had passed, or `until_ms` cut it."""

RESULT_FILE = "result.json"
JOURNAL_FILE = "journal.parquet"


@dataclass(frozen=True, slots=True)
class Traffic:
    """Messages of one kind."""

    sent: int
    received: int


@dataclass(frozen=True, slots=True)
class LatencySummary:
    """Latencies in milliseconds; percentiles are nearest-rank, `sd` is the population's.

    Invariant: exact, not estimated; all but `count` are None when there was nothing to
    measure.
    """

    count: int
    mean: float | None = None
    sd: float | None = None
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    max: float | None = None

    @classmethod
    def of_us(cls, latencies_us: "array[int]") -> "LatencySummary":
        """Summarise an array("q") of microseconds."""
        count = len(latencies_us)
        if count == 0:
            return cls(0)
        total = sum(latencies_us)
        squares = sum(map(mul, latencies_us, latencies_us))
        ranks = [-(-count * percent // 100) for percent in (50, 95, 99)]
        p50, p95, p99 = (each / 1000 for each in _ranked(latencies_us, ranks))
        return cls(
            count=count,
            mean=total / count / 1000,
            sd=sqrt(count * squares - total * total) / count / 1000,
            p50=p50,
            p95=p95,
            p99=p99,
            max=max(latencies_us) / 1000,
        )


def _ranked(values: "array[int]", ranks: list[int]) -> list[int]:
    """The smallest values of these ranks (1 is the smallest), without sorting them all.

    A sorted list of a million Python integers weighs more than the run that made them;
    two histograms, of the numbers' upper and lower halves, weigh next to nothing.
    """
    low = min(values)
    shift = (max(values) - low).bit_length() // 2
    upper = Counter((value - low) >> shift for value in values)
    found = []
    for rank in ranks:
        half, left = _bin_of(upper, rank)
        lower = Counter(value for value in values if (value - low) >> shift == half)
        found.append(_bin_of(lower, left)[0])
    return found


def _bin_of(histogram: Mapping[int, int], rank: int) -> tuple[int, int]:
    """The bin in which `rank` falls, and its rank inside that bin."""
    for each in sorted(histogram):
        if rank <= histogram[each]:
            return each, rank
        rank -= histogram[each]
    raise AssertionError(f"rank is {rank} beyond the histogram's last value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One run's outcome."""

    scenario: Scenario
    version: str
    """treecast's, that ran it."""
    journal: "pa.Table | None"
    messages: Mapping[str, Traffic]
    """By kind of message: PUB, SUB, UNS, ACK."""
    reception_latency_ms: LatencySummary
    """From an event's publication to each subscriber's first reception."""
    delivery_latency_ms: LatencySummary
    """From an event's publication to each subscriber's delivery."""
    events_published: int
    events_delivered: int
    false_positives: int
    """How often an event came to a node that was not subscribed to its topic."""
    messages_refused: int
    """How often a machine refused what a peer sent, because faults had made it senseless; it was dropped."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """What machines and nodes have counted, by its name: refused, dropped, given up."""
    queue_wait_ms: float | None
    """Mean wait of a message in its sender's outgoing queue; None where there is no queue."""
    simulated_ms: float
    ending: Ending
    inputs_skipped: Mapping[str, int]
    """By what it was: inputs of nodes that were down, or whose membership did not allow them."""
    faults: Sequence[Tally]
    """What each crash, fault and churn did."""
    hops: int
    wall_s: float
    cpu_s: float
    peak_memory_mb: float

    @property
    def quiet(self) -> bool:
        """All that was to happen has happened: the run was not cut."""
        return self.ending != "cut"

    def to_json(self) -> dict[str, object]:
        """All but the journal, as JSON holds it; the scenario is in its TOML form."""
        return {
            "scenario": document_of(self.scenario),
            "seed": self.scenario.seed,
            "version": self.version,
            "messages": {kind: asdict(each) for kind, each in sorted(self.messages.items())},
            "reception_latency_ms": asdict(self.reception_latency_ms),
            "delivery_latency_ms": asdict(self.delivery_latency_ms),
            "events_published": self.events_published,
            "events_delivered": self.events_delivered,
            "false_positives": self.false_positives,
            "messages_refused": self.messages_refused,
            "counts": dict(self.counts),
            "queue_wait_ms": self.queue_wait_ms,
            "simulated_ms": self.simulated_ms,
            "quiet": self.quiet,
            "ending": self.ending,
            "inputs_skipped": dict(self.inputs_skipped),
            "faults": [{"kind": each.kind, "place": each.place, **each.counts} for each in self.faults],
            "hops": self.hops,
            "wall_s": self.wall_s,
            "cpu_s": self.cpu_s,
            "peak_memory_mb": self.peak_memory_mb,
        }

    def write(self, directory: str | os.PathLike[str]) -> Path:
        """Write result.json and, if there is one, the journal; an older result is replaced.

        result.json goes first and comes last, so that a folder which holds one holds a
        whole result.
        """
        folder = prepare_folder(directory)
        report, journal = folder / RESULT_FILE, folder / JOURNAL_FILE
        report.unlink(missing_ok=True)
        journal.unlink(missing_ok=True)
        if self.journal is not None:
            from treecast.journal import write_journal

            write_journal(self.journal, folder)
        part = report.with_suffix(".json.part")
        part.write_text(json.dumps(self.to_json(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        part.replace(report)
        return folder


def prepare_folder(directory: str | os.PathLike[str]) -> Path:
    """Make the folder and prove that files can be written there; raise `UsageError`.

    Called before a long run as well: what cannot be kept should not be computed.
    """
    folder = Path(directory)
    probe = folder / f".{RESULT_FILE}.probe"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(
            f"{folder}: cannot be written to ({reason}); give a folder that can be, with --out"
        ) from None
    return folder
