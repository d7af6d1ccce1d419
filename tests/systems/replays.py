"""Judging random scenarios by seed, and the commands that replay them."""

import sys
from collections.abc import Callable
from pathlib import Path

from effective import effective

from treecast.checkers import Report, check
from treecast.sim import Result, Scenario
from treecast.sim.scenario_file import toml_of


class Replays:
    """The scenarios that `scenario_of` draws; `file` is the module that is run to replay one."""

    def __init__(self, file: str, scenario_of: Callable[[int], Scenario]) -> None:
        self._name = Path(file).name
        self._scenario_of = scenario_of

    def judge(self, seed: int) -> tuple[Result, Report]:
        result = effective(self._scenario_of(seed))
        assert result.journal is not None
        return result, check(result.journal)

    def complaint(self, seed: int) -> str:
        """What failed, and the command that replays it; nothing when all holds."""
        replay = f"replay: .venv/bin/python tests/systems/{self._name} {seed}"
        try:
            _, report = self.judge(seed)
        except Exception as error:
            raise AssertionError(f"seed {seed} ends in an error; {replay}") from error
        if report.ok:
            return ""
        lines = [violation.text for verdict in report.verdicts for violation in verdict.violations[:5]]
        return "\n".join([f"seed {seed}; {replay}", *lines])

    def main(self) -> None:
        """Print each seed's scenario in TOML form and what it breaks."""
        for seed in map(int, sys.argv[1:]):
            print(toml_of(self._scenario_of(seed)))
            print(self.complaint(seed) or "all holds")
