"""From a scenario to what each application does when: subscribers drawn, publications timed.

Every topic and workload draws from a stream of its own, so that adding one leaves the
others as they were, and another protocol under the same seed sees the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from types import MappingProxyType

from treecast.core import NodeId, Topic
from treecast.sim.host import Input
from treecast.sim.randomness import stream
from treecast.sim.scenario import Burst, Once, Periodic, Scenario, Workload
from treecast.sim.scenario_keys import Selection, selected_count
from treecast.sim.tally import Tally


def draw(selection: Selection, population: Sequence[NodeId], random: Random) -> list[NodeId]:
    """The nodes that `selection` stands for, ascending."""
    if isinstance(selection, tuple):
        return sorted(selection)
    return sorted(random.sample(population, selected_count(selection, len(population))))


def initial_subscribers(scenario: Scenario) -> dict[Topic, tuple[NodeId, ...]]:
    """Who is subscribed to each topic before the run begins."""
    everyone = range(scenario.nodes)
    return {
        topic.name: tuple(draw(topic.subscribers, everyone, stream(scenario.seed, "topic", topic.name)))
        for topic in scenario.topics
    }


def inputs(
    scenario: Scenario,
    subscribers: dict[Topic, tuple[NodeId, ...]],
    tallies: Mapping[str, Tally] = MappingProxyType({}),
) -> list[Input]:
    """All that nodes and applications will do, by time; of one instant, workloads before actions.

    `tallies` by place: where it is counted that a table's inputs were carried out.
    """
    found: list[Input] = []
    for number, workload in enumerate(scenario.workloads, start=1):
        random = stream(scenario.seed, "workload", number)
        place = f"[[workload]] {number}"
        for node in draw(workload.publishers, subscribers[workload.topic], random):
            for at_us in _times_us(workload, random):
                found.append(Input(at_us, node, "publish", workload.topic, place, lenient=scenario.unsettled))
    for number, action in enumerate(scenario.actions, start=1):
        at_us, place = round(action.at_ms * 1000), f"[[action]] {number}"
        found.append(
            Input(
                at_us,
                action.node,
                action.do,
                action.topic,
                place,
                sends=action.sends,
                tally=tallies.get(place),
            )
        )
    found.sort(key=lambda each: each.at_us)
    return found


def _times_us(workload: Workload, random: Random) -> Iterator[int]:
    begin_us, end_us = (round(edge * 1000) for edge in workload.window_ms)
    first_us = random.randint(begin_us, end_us)
    match workload:
        case Once():
            yield first_us
        case Burst():
            yield from (first_us for _ in range(workload.count))
        case Periodic():
            yield from (first_us + round(turn * workload.every_ms * 1000) for turn in range(workload.count))
