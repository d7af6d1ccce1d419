"""Results and verdicts as tables for people, and verdicts as JSON.

Invariant: names come from files, so nothing here is read as the console's markup, and
paths and commands are never wrapped, so that they can be copied.
"""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from treecast.checkers import Report
    from treecast.sim.result import LatencySummary, Result


def print_result(result: "Result", out: Path | None) -> None:
    """Print a run's summary, and where its journal lies."""
    from treecast.sim.result import JOURNAL_FILE, RESULT_FILE

    console = Console()
    console.print(_summary(result))
    console.print(_traffic(result))
    console.print(_latencies(result))
    if result.faults:
        console.print(_faults(result))
    if out is None:
        _line(console, "nothing was written; give --out DIR to keep the result and its journal")
    elif result.journal is None:
        _line(console, f"result: {out / RESULT_FILE} (no journal at this level)")
    else:
        _line(console, f"result: {out / RESULT_FILE}")
        _line(console, f"journal: {out / JOURNAL_FILE} ({result.journal.num_rows:,} rows)")
        _line(console, f"check it: treecast check {quote(str(out))}")


def print_report(report: "Report") -> None:
    """Print the verdicts, what was measured, and every violation by name."""
    console = Console()
    table = _table("property", "verdict", "checked", title="verdicts")
    table.columns[2].justify = "right"
    for verdict in report.verdicts:
        table.add_row(
            Text(f"{verdict.name}: {verdict.statement}"),
            _verdict_cell(verdict.count, verdict.skipped),
            f"{verdict.checked:,}",
        )
    console.print(table)
    if report.figures:
        console.print(_figures(report.figures))
    for verdict in report.verdicts:
        for violation in verdict.violations:
            _line(console, f"{verdict.name}: {violation.text}")
        unseen = verdict.count - len(verdict.violations)
        if unseen > 0:
            _line(console, f"{verdict.name}: and {unseen:,} more")
    _line(console, _conclusion(report))


def report_document(report: "Report") -> dict[str, object]:
    """A report as JSON holds it."""
    return {
        "ok": report.ok,
        "verdicts": [
            {
                "name": verdict.name,
                "statement": verdict.statement,
                "checked": verdict.checked,
                "skipped": verdict.skipped,
                "count": verdict.count,
                "violations": [asdict(violation) for violation in verdict.violations],
            }
            for verdict in report.verdicts
        ],
        "figures": dict(report.figures),
    }


def _table(*headings: str, title: str, show_header: bool = True) -> Table:
    return Table(*headings, title=title, title_justify="left", box=box.SIMPLE_HEAD, show_header=show_header)


def _summary(result: "Result") -> Table:
    scenario = result.scenario
    ending = {
        "quiet": "until quiet",
        "settled": "until settled",
        "cut": "cut off: its time was up",
    }[result.ending]
    table = _table("", "", title="run", show_header=False)
    rows = {
        "scenario": scenario.name,
        "protocol": scenario.protocol,
        "network": scenario.network.model,
        "nodes": f"{scenario.nodes:,}",
        "seed": str(scenario.seed),
        "simulated": f"{result.simulated_ms:,.3f} ms, {ending}",
        "events": f"{result.events_published:,} published, {result.events_delivered:,} delivered",
        "skipped": ", ".join(f"{count:,} {do}" for do, count in result.inputs_skipped.items()),
        "hops": f"{result.hops:,}",
        "refused": f"{result.messages_refused:,} messages that made no sense to their receivers"
        if result.messages_refused
        else "",
        "false positives": f"{result.false_positives:,} events at nodes that were not subscribed"
        if result.false_positives
        else "",
        "counted": ", ".join(f"{count:,} {what}" for what, count in result.counts.items()),
        "time": f"{result.wall_s:.2f} s wall, {result.cpu_s:.2f} s CPU",
        "peak memory": f"{result.peak_memory_mb:.0f} MB",
    }
    for name, value in rows.items():
        if value:
            table.add_row(name, Text(value))
    return table


def _faults(result: "Result") -> Table:
    table = _table("table", "kind", "what it did", title="faults")
    for each in result.faults:
        counts = (f"{name.replace('_', ' ')} {count:,}" for name, count in each.counts.items())
        table.add_row(Text(each.place), each.kind, ", ".join(counts))
    return table


def _traffic(result: "Result") -> Table:
    table = _table("message", "sent", "received", title="messages")
    table.columns[1].justify = table.columns[2].justify = "right"
    for kind, traffic in sorted(result.messages.items()):
        table.add_row(Text(kind), f"{traffic.sent:,}", f"{traffic.received:,}")
    return table


def _latencies(result: "Result") -> Table:
    headings = ("ms", "count", "mean", "sd", "p50", "p95", "p99", "max")
    table = _table(*headings, title="latencies")
    for column in table.columns[1:]:
        column.justify = "right"
    table.add_row("reception", *_cells(result.reception_latency_ms))
    table.add_row("delivery", *_cells(result.delivery_latency_ms))
    return table


def _cells(latency: "LatencySummary") -> list[str]:
    figures = (latency.mean, latency.sd, latency.p50, latency.p95, latency.p99, latency.max)
    return [f"{latency.count:,}", *("-" if each is None else f"{each:,.1f}" for each in figures)]


def _figures(figures: Mapping[str, float]) -> Table:
    table = _table("measured", "", title="figures")
    table.columns[1].justify = "right"
    for name, value in figures.items():
        table.add_row(Text(name), f"{value:,.3f}" if isinstance(value, float) else f"{value:,}")
    return table


def _verdict_cell(violations: int, skipped: str | None) -> Text:
    if skipped is not None:
        return Text(f"not judged: {skipped}", style="yellow")
    if violations:
        return Text(f"{violations:,} violated", style="bold red")
    return Text("holds", style="green")


def _conclusion(report: "Report") -> str:
    if not report.ok:
        return "violated: not everything holds"
    skipped = len(report.skipped)
    return f"everything judged holds; {skipped} not judged" if skipped else "everything holds"


def _line(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True, emoji=False)
