"""Scenarios drawn from seeds: their judgement by the checkers, and the command that replays one."""

from collections.abc import Callable
from dataclasses import dataclass

from treecast.checkers import Report, check
from treecast.sim import Result, Scenario
from treecast.sim.scenario_file import toml_of

VIOLATIONS_MAX = 5
"""So many of each rule are shown."""


@dataclass(frozen=True, slots=True)
class Seeds:
    """A family of scenarios, one for each seed."""

    script: str
    """The module in this folder that draws them, and what it is to be called with before the seed."""
    draw: Callable[[int], Scenario]
    run: Callable[[Scenario], Result]

    def judge(self, seed: int) -> tuple[Result, Report]:
        result = self.run(self.draw(seed))
        assert result.journal is not None
        return result, check(result.journal)

    def complaint_of(self, seed: int) -> str:
        """What is wrong with a seed's run and the command that replays it, or nothing."""
        replay = f"replay: .venv/bin/python tests/systems/{self.script} {seed}"
        try:
            _, report = self.judge(seed)
        except Exception as error:
            raise AssertionError(f"seed {seed} ends in an error; {replay}") from error
        assert report.verdict("completeness").skipped is None, f"seed {seed} is not judged whole; {replay}"
        if report.ok:
            return ""
        shown = (each for verdict in report.verdicts for each in verdict.violations[:VIOLATIONS_MAX])
        return "\n".join([f"seed {seed}; {replay}", *(violation.text for violation in shown)])

    def complaints(self, seeds: range) -> str:
        """All complaints, one below the other."""
        return "\n\n".join(filter(None, map(self.complaint_of, seeds)))

    def replay(self, arguments: list[str]) -> None:
        """Print each seed's scenario in TOML form, and every violation."""
        for seed in map(int, arguments):
            print(toml_of(self.draw(seed)))
            print(self.complaint_of(seed) or "all holds", flush=True)
