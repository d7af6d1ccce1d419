"""The commands, their options, and what each does.

Invariant: with --json, stdout holds one JSON document and nothing else.
"""

import json
import sys
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from treecast import __version__
from treecast.core import ScenarioError, UsageError

if TYPE_CHECKING:
    from treecast.sim.result import Result
    from treecast.sim.scenario import Scenario

Level = Literal["all", "deliveries", "counters"]
Engine = Literal["windowed", "event-order"]

DEMO_FOLDER = Path("treecast-demo")
TYPER_INTERRUPTED = 130
"""What typer returns when it has swallowed a KeyboardInterrupt."""

app = typer.Typer(
    name="treecast",
    help="Brokerless publish/subscribe: simulate protocols and check what they did.",
    add_completion=False,
    context_settings={"help_option_names": ["--help", "-h"]},
    pretty_exceptions_enable=False,
)

ScenarioPath = Annotated[Path, typer.Argument(metavar="SCENARIO.toml", help="The scenario to run.")]
JournalPath = Annotated[
    Path, typer.Argument(metavar="DIR", help="A folder that holds a journal, or its file.")
]
SeedOption = Annotated[int | None, typer.Option(help="Run under this seed, not the scenario's.")]
OutOption = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Write result.json and journal.parquet to this folder.")
]
LevelOption = Annotated[
    Level | None,
    typer.Option("--journal", help="What the journal keeps.", show_default="all with --out, else counters"),
]
EngineOption = Annotated[
    Engine | None,
    typer.Option(
        help="How time advances; the journal is the same.", show_default="the quickest that applies"
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]
DemoOutOption = Annotated[Path, typer.Option(metavar="DIR", help="Write the demo's journal to this folder.")]
DemoSeedOption = Annotated[int, typer.Option(help="Draws who joins, leaves and publishes, and when.")]
BoundOption = Annotated[
    float | None,
    typer.Option(
        metavar="MS", min=0, help="Judge that crashes and recoveries are noticed by all within that long."
    ),
]
VersionOption = Annotated[bool, typer.Option("--version", help="Print the version and exit.")]


def run(arguments: list[str]) -> int:
    """Run one command; its exit code. Raises `UsageError` for arguments that are wrong."""
    try:
        code = app(arguments or ["--help"], prog_name="treecast", standalone_mode=False)
    except typer.TyperException as error:
        raise UsageError(f"{error.format_message().rstrip('.')}; see 'treecast --help'") from None
    except typer.Abort:
        raise KeyboardInterrupt from None
    except SystemExit:
        # Outside its stand-alone mode typer exits for one reason: the reader of stdout has left.
        raise BrokenPipeError from None
    if code == TYPER_INTERRUPTED:
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0


@app.callback(invoke_without_command=True)
def about(version: VersionOption = False) -> None:
    """Print the version, when asked for it."""
    if version:
        sys.stdout.write(f"treecast {__version__}\n")
        raise typer.Exit(0)


@app.command()
def simulate(
    scenario: ScenarioPath,
    *,
    seed: SeedOption = None,
    out: OutOption = None,
    journal: LevelOption = None,
    engine: EngineOption = None,
    as_json: JsonOption = False,
) -> int:
    """Run a scenario in the simulator and print what it took."""
    from treecast.sim.scenario_file import load_scenario

    chosen = load_scenario(scenario)
    if seed is not None:
        chosen = replace(chosen, seed=seed)
    level = journal or ("counters" if out is None else "all")
    try:
        result = _simulated(chosen, level, engine, out)
    except ScenarioError as error:
        raise ScenarioError(f"{scenario}: {error}") from None
    if as_json:
        _print_json(result.to_json())
        return 0
    from treecast.cli.tables import print_result

    print_result(result, out)
    return 0


@app.command()
def check(
    directory: JournalPath, *, detection_bound_ms: BoundOption = None, as_json: JsonOption = False
) -> int:
    """Judge a journal; exit 1 and list the violations when something does not hold."""
    from treecast.checkers import check as judge
    from treecast.journal import read_journal

    if detection_bound_ms is not None and not isfinite(detection_bound_ms):
        raise UsageError(f"--detection-bound-ms is {detection_bound_ms}; give a number of milliseconds")
    bound_us = None if detection_bound_ms is None else round(detection_bound_ms * 1000)
    report = judge(read_journal(directory), bound_us)
    if as_json:
        from treecast.cli.tables import report_document

        _print_json({"journal": str(directory), **report_document(report)})
    else:
        from treecast.cli.tables import print_report

        print_report(report)
    return 0 if report.ok else 1


@app.command()
def demo(out: DemoOutOption = DEMO_FOLDER, seed: DemoSeedOption = 2018) -> int:
    """Simulate a causal topic of 64 nodes that join, leave and return; then check its journal."""
    from treecast.checkers import check as judge
    from treecast.cli.demo import demo_scenario
    from treecast.cli.tables import print_report, print_result
    from treecast.journal import read_journal
    from treecast.sim.scenario_file import toml_of

    scenario = demo_scenario(seed)
    result = _simulated(scenario, "all", None, out)
    (out / "scenario.toml").write_text(toml_of(scenario), encoding="utf-8")
    print_result(result, out)
    report = judge(read_journal(out))
    print_report(report)
    return 0 if report.ok else 1


def _simulated(scenario: "Scenario", level: Level, engine: Engine | None, out: Path | None) -> "Result":
    """Run `scenario`, showing progress on a terminal, and keep the result if there is a place."""
    from treecast.cli.progress import progress_bar
    from treecast.sim import simulate as run_scenario
    from treecast.sim.result import prepare_folder

    if out == Path():
        raise UsageError("--out is empty; give a folder for the result, as in --out run1")
    if out is not None:
        prepare_folder(out)
    with progress_bar(scenario) as progress:
        result = run_scenario(scenario, journal=level, engine=engine, progress=progress)
    if out is not None:
        result.write(out)
    return result


def _print_json(document: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
