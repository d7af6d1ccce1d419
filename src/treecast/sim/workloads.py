"""From a scenario to what each application does when: subscribers drawn, publications timed.

Every topic and workload draws from a stream of its own, so that adding one leaves the
others as they were, and another protocol under the same seed sees the same.
"""

from collections.abc import Iterator, Sequence
from random import Random

from treecast.core import NodeId, Topic
from treecast.sim.host import Input
from treecast.sim.randomness import stream
from treecast.sim.scenario import Burst, Once, Periodic, Scenario, Selection, Workload, selected_count


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


def inputs(scenario: Scenario, subscribers: dict[Topic, tuple[NodeId, ...]]) -> list[Input]:
    """All that applications will do, by time; of one instant, workloads before actions."""
    found: list[Input] = []
    for number, workload in enumerate(scenario.workloads, start=1):
        random = stream(scenario.seed, "workload", number)
        place = f"[[workload]] {number}"
        for node in draw(workload.publishers, subscribers[workload.topic], random):
            for at_us in _times_us(workload, random):
                found.append(Input(at_us, node, "publish", workload.topic, place))
    for number, action in enumerate(scenario.actions, start=1):
        at_us = round(action.at_ms * 1000)
        found.append(Input(at_us, action.node, action.do, action.topic, f"[[action]] {number}"))
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
