"""Runs of random scenarios, some of whose faults may do nothing, which the simulator refuses."""

import re
from collections.abc import Iterator
from dataclasses import replace

from treecast.core import ScenarioError
from treecast.journal import journal_hash
from treecast.sim import Result, Scenario, simulate
from treecast.sim.simulate import EngineName


def outcomes(scenario: Scenario, *engines: EngineName | None) -> Iterator[tuple[Result | str, ...]]:
    """What each engine says; if that is a refusal, again without the table that did nothing, and so on."""
    while True:
        found = tuple(_outcome(scenario, engine) for engine in engines)
        yield found
        if not isinstance(found[0], str):
            return
        named = re.match(r"\[\[(\w+)\]\] (\d+): the \w+ never took effect", found[0])
        assert named, found[0]
        name, number = f"{named[1]}s", int(named[2])
        tables = getattr(scenario, name)
        scenario = replace(scenario, **{name: tables[: number - 1] + tables[number:]})


def _outcome(scenario: Scenario, engine: EngineName | None) -> Result | str:
    try:
        return simulate(scenario, engine=engine)
    except ScenarioError as error:
        return str(error)


def effective(scenario: Scenario, engine: EngineName | None = None) -> Result:
    """The run of the scenario without its tables that do nothing."""
    *_, (last,) = outcomes(scenario, engine)
    assert not isinstance(last, str)
    return last


def assert_engines_agree(scenario: Scenario) -> None:
    """The windowed engine, where it applies, and the other write the same journal, or refuse alike."""
    for pair in outcomes(scenario, None, "event-order"):
        first, second = (journal_hash(each.journal) if isinstance(each, Result) else each for each in pair)
        assert first == second, scenario.name
