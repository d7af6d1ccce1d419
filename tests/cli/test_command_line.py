"""The command line from outside: what it prints, where it writes, and its exit codes."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from treecast import __version__
from treecast.cli.app import main

SCENARIO = """
name = "eight nodes [bold] talk"
protocol = "vcube-ps"
nodes = 8
seed = 4

[network]
model = "packet"

[[topic]]
name = "chat"
subscribers = 6

[[workload]]
kind = "once"
topic = "chat"
publishers = 3
window_ms = [0, 500]
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


def document(capsys: pytest.CaptureFixture[str]) -> Any:
    printed = capsys.readouterr()
    assert printed.err == ""
    return json.loads(printed.out)


def complaint(capsys: pytest.CaptureFixture[str]) -> str:
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert printed.err.startswith("treecast: error: ")
    return printed.err.removeprefix("treecast: error: ").rstrip("\n")


def command(*arguments: str, code: str = "") -> subprocess.CompletedProcess[str]:
    called = [sys.executable, "-c", code] if code else [sys.executable, "-m", "treecast", *arguments]
    return subprocess.run(called, capture_output=True, text=True, check=False, timeout=60)


def test_the_version_comes_without_anything_heavy() -> None:
    code = (
        "import sys; from treecast.cli.app import main; assert main(['--version']) == 0; "
        "heavy = {'pyarrow', 'rich', 'typer'} & set(sys.modules); assert not heavy, heavy"
    )
    done = command(code=code)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"treecast {__version__}\n", "")


def test_counting_only_never_imports_arrow(scenario: Path) -> None:
    code = (
        "import sys; from treecast.cli.app import main; "
        f"assert main(['simulate', {str(scenario)!r}, '--journal', 'counters']) == 0; "
        "assert 'pyarrow' not in sys.modules"
    )
    done = command(code=code)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_module_runs_as_a_command_and_passes_its_exit_code_on(tmp_path: Path) -> None:
    done = command("check", str(tmp_path / "nowhere"))
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("treecast: error: ")
    assert done.stderr.count("\n") == 1


def test_json_is_one_document_that_equals_the_written_result(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["simulate", str(scenario), "--out", str(out), "--json"]) == 0
    result = document(capsys)
    assert result == json.loads((out / "result.json").read_text(encoding="utf-8"))
    assert result["version"] == __version__
    assert result["seed"] == 4
    assert result["events_published"] == 3
    assert result["events_delivered"] == 3 * 6
    assert result["messages"]["PUB"] == {"sent": 3 * 5, "received": 3 * 5}
    for latency in (result["reception_latency_ms"], result["delivery_latency_ms"]):
        assert latency["count"] == 3 * 5
        assert 0 < latency["p50"] <= latency["p95"] <= latency["p99"] <= latency["max"]


def test_a_seed_on_the_command_line_replaces_the_scenario_s(
    scenario: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    latencies = []
    for seed in ("4", "5"):
        assert main(["simulate", str(scenario), "--seed", seed, "--json"]) == 0
        result = document(capsys)
        assert result["scenario"]["seed"] == result["seed"] == int(seed)
        latencies.append(result["reception_latency_ms"])
    assert main(["simulate", str(scenario), "--json"]) == 0
    assert document(capsys)["reception_latency_ms"] == latencies[0] != latencies[1]


def test_both_engines_write_the_same_journal(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for engine in ("windowed", "event-order"):
        out = str(tmp_path / engine)
        assert main(["simulate", str(scenario), "--engine", engine, "--out", out]) == 0
    first, second = (tmp_path / engine / "journal.parquet" for engine in ("windowed", "event-order"))
    assert first.read_bytes() == second.read_bytes()


def test_the_table_shows_names_as_they_are_and_says_how_to_check(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / ("a long and [bold] folder " * 4).strip()
    assert main(["simulate", str(scenario), "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "eight nodes [bold] talk" in printed
    assert f"treecast check '{out}'\n" in printed
    assert str(out / "journal.parquet") in printed


@pytest.mark.parametrize("level", ["all", "deliveries", "counters"])
def test_the_level_decides_what_is_kept(
    level: str, scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "journal.parquet").write_bytes(b"of an older result")
    assert main(["simulate", str(scenario), "--journal", level, "--out", str(tmp_path)]) == 0
    capsys.readouterr()
    code = main(["check", str(tmp_path), "--json"])
    if level == "counters":
        assert code == 2
        assert "journal" in complaint(capsys)
    else:
        report = document(capsys)
        assert code == 0
        assert report["ok"] is True
        skipped = {verdict["name"] for verdict in report["verdicts"] if verdict["skipped"]}
        assert ("received was sent" in skipped) == (level == "deliveries")


def test_detection_is_judged_by_a_bound_that_is_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from treecast.journal import journal_from_rows, write_journal

    rows = [
        {"time_us": 0, "node": 0, "kind": "crash"},
        {"time_us": 2_500, "node": 1, "kind": "suspect", "peer": 0},
        {"time_us": 9_000, "node": 1, "kind": "subscribe", "topic": "chat"},
    ]
    write_journal(journal_from_rows(rows), tmp_path)
    assert main(["check", str(tmp_path)]) == 0
    assert "no bound was given" in " ".join(capsys.readouterr().out.split())
    assert main(["check", str(tmp_path), "--detection-bound-ms", "2.5"]) == 0
    assert main(["check", str(tmp_path), "--detection-bound-ms", "2.4"]) == 1
    capsys.readouterr()
    for wrong in ("-1", "nan", "inf"):
        assert main(["check", str(tmp_path), "--detection-bound-ms", wrong]) == 2
        assert "--detection-bound-ms" in complaint(capsys)


def test_check_tells_violations_and_exits_with_one(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import pyarrow as pa

    from treecast.journal import read_journal, write_journal

    assert main(["simulate", str(scenario), "--out", str(tmp_path)]) == 0
    assert main(["check", str(tmp_path)]) == 0
    assert "everything judged holds" in capsys.readouterr().out
    journal = read_journal(tmp_path)
    rows = journal.to_pylist()
    last = max(number for number, row in enumerate(rows) if row["kind"] == "deliver")
    twice = [*range(last + 1), *range(last, len(rows))]
    write_journal(journal.take(pa.array(twice)), tmp_path)
    assert main(["check", str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert "1 violated" in printed
    assert main(["check", str(tmp_path), "--json"]) == 1
    report = document(capsys)
    broken = [verdict for verdict in report["verdicts"] if verdict["count"]]
    assert report["ok"] is False
    assert [verdict["count"] for verdict in broken] == [1]
    assert rows[last]["node"] in broken[0]["violations"][0]["nodes"]
    assert broken[0]["violations"][0]["text"] in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulat"], "did you mean 'simulate'?"),
        (["simulate"], "scenario.toml"),
        (["simulate", "SCENARIO", "--sed", "1"], "--seed"),
        (["simulate", "SCENARIO", "--seed", "one"], "'--seed'"),
        (["simulate", "SCENARIO", "--seed", "-1"], "seed = -1; give a whole number from 0"),
        (["simulate", "SCENARIO", "--engine", "steam"], "'windowed', 'event-order'"),
        (["simulate", "SCENARIO", "--journal", "some"], "'all', 'deliveries', 'counters'"),
        (["simulate", "nowhere.toml"], "nowhere.toml: cannot be read (no such file or directory)"),
        (["simulate", "SCENARIO", "--out", "SCENARIO"], "cannot be written to"),
        (["simulate", "SCENARIO", "--out", "SCENARIO/below"], "cannot be written to"),
        (["demo", "--out", "SCENARIO/below"], "cannot be written to"),
        (["demo", "--seed", "-1"], "seed = -1; give a whole number from 0"),
        (["check"], "dir"),
        (["check", "nowhere"], "nowhere"),
        (["check", "SCENARIO"], "scenario.toml"),
    ],
)
def test_what_is_asked_wrongly_is_one_line_and_exit_two(
    arguments: list[str], message: str, scenario: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([each.replace("SCENARIO", str(scenario)) for each in arguments]) == 2
    assert message in complaint(capsys).lower()


def test_an_action_refused_in_the_run_names_the_file_and_the_place(
    scenario: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    action = '[[action]]\nat_ms = 10\nnode = 1\ndo = "{}"\ntopic = "chat"\n'
    scenario.write_text(SCENARIO + action.format("unsubscribe") + action.format("publish"), encoding="utf-8")
    assert main(["simulate", str(scenario), "--seed", "1"]) == 2
    assert complaint(capsys).startswith(f"{scenario}: [[action]] ")


def test_a_reader_who_leaves_early_gets_no_traceback(scenario: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    called = [sys.executable, "-m", "treecast", "simulate", str(scenario), "--json"]
    with os.fdopen(writing, "wb") as pipe:
        done = subprocess.run(called, stdout=pipe, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (141, "")


def test_an_interrupt_is_one_line_and_exit_130(tmp_path: Path) -> None:
    pipe = tmp_path / "scenario.toml"
    os.mkfifo(pipe)
    called = [sys.executable, "-m", "treecast", "simulate", str(pipe)]
    # In the background of a shell script children are born deaf to it.
    hearing = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    called[1:3] = ["-c", f"{hearing}from treecast.cli.app import main; sys.exit(main())"]
    process = subprocess.Popen(called, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # Opening returns when the command has opened its end; then it waits for a scenario.
    with process, pipe.open("wb"):
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    assert (process.returncode, output, errors) == (130, "", "treecast: interrupted\n")


def test_without_a_command_the_help_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("simulate", "check", "demo"))


def _shell(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", command.replace("treecast", f"{sys.executable} -m treecast")],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_closed_and_full_outputs_give_no_traceback() -> None:
    assert _shell("treecast --version >&-").returncode == 0
    full = _shell("treecast --version > /dev/full")
    assert (full.returncode, full.stderr) == (2, "treecast: error: No space left on device\n")


def test_any_name_can_be_printed_anywhere(tmp_path: Path) -> None:
    scenario = tmp_path / "x.toml"
    scenario.write_text('name = "späte Gäste"\nprotocol = "vcube-ps"\nnodes = 2\n', encoding="utf-8")
    printed = _shell(f"treecast simulate {scenario}", PYTHONIOENCODING="ascii")
    assert (printed.returncode, printed.stderr) == (0, "")
    assert "sp\\xe4te" in printed.stdout


def test_an_empty_folder_name_is_refused(tmp_path: Path) -> None:
    scenario = tmp_path / "x.toml"
    scenario.write_text('name = "x"\nprotocol = "vcube-ps"\nnodes = 2\n', encoding="utf-8")
    refused = _shell(f"treecast simulate {scenario} --out ''")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "--out is empty" in refused.stderr
