"""From a scenario to what each application does when: subscribers drawn, publications timed.

Every topic and workload draws from a stream of its own, so that adding one leaves the
others as they were, and another protocol under the same seed sees the same.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from types import MappingProxyType

from treecast.core import NodeId, ScenarioError, Topic
from treecast.core.keys import shown
from treecast.sim.churn import Membership, changes
from treecast.sim.host import Input
from treecast.sim.randomness import stream
from treecast.sim.scenario import Scenario
from treecast.sim.scenario_keys import draw, selected_count
from treecast.sim.scenario_workloads import Burst, Once, Periodic, Recorded, Steady, Workload
from treecast.sim.tally import Tally


def initial_subscribers(scenario: Scenario) -> dict[Topic, tuple[NodeId, ...]]:
    """Who is subscribed to each topic before the run begins."""
    found: dict[Topic, tuple[NodeId, ...]] = {}
    taken: set[NodeId] = set()
    for number, topic in enumerate(scenario.topics, start=1):
        population = range(scenario.nodes)
        random = stream(scenario.seed, "topic", topic.name)
        if topic.apart:
            left = [node for node in population if node not in taken]
            count = selected_count(topic.subscribers, scenario.nodes)
            if topic.subscribers == "all":
                count = len(left)
            if count > len(left):
                raise ScenarioError(
                    f"[[topic]] {number}: subscribers = {shown(topic.subscribers)} apart from the topics "
                    f"before it; only {len(left)} of {scenario.nodes} nodes are left"
                )
            members = sorted(random.sample(left, count))
        else:
            members = draw(topic.subscribers, population, random)
        found[topic.name] = tuple(members)
        taken.update(members)
    for workload in scenario.workloads:
        if isinstance(workload, Recorded):
            found.update(workload.recording.subscribers)
    return found


def publishing_nodes(scenario: Scenario, subscribers: Mapping[Topic, Sequence[NodeId]]) -> set[NodeId]:
    """Whom workloads have publish, as far as that is settled before the run."""
    return {node for nodes, _ in _publishers(scenario, subscribers).values() for node in nodes}


def inputs(
    scenario: Scenario,
    subscribers: dict[Topic, tuple[NodeId, ...]],
    tallies: Mapping[str, Tally] = MappingProxyType({}),
) -> list[Input]:
    """All that nodes and applications will do, by time; of one instant, workloads before actions.

    `tallies` by place: where it is counted that a table's inputs were carried out.
    """
    publishers = _publishers(scenario, subscribers)
    deeds = [*_churned(scenario, subscribers, publishers, tallies), *_acted(scenario, tallies)]
    deeds.sort(key=_at_us)
    found: list[Input] = []
    for number, workload in enumerate(scenario.workloads, start=1):
        place = f"[[workload]] {number}"
        if isinstance(workload, Recorded):
            found += _recorded(workload, place, lenient=scenario.unsettled)
            continue
        topic = workload.topic
        if isinstance(workload, Steady):
            random = stream(scenario.seed, "workload", number)
            times = _steady(workload, subscribers[topic], scenario.nodes, deeds, random)
        else:
            nodes, random = publishers[number]
            times = ((at_us, node) for node in nodes for at_us in _times_us(workload, random))
        found += (
            Input(at_us, node, "publish", topic, place, lenient=scenario.unsettled) for at_us, node in times
        )
    found += deeds
    found.sort(key=_at_us)
    return found


def _at_us(event: Input) -> int:
    return event.at_us


def _publishers(
    scenario: Scenario, subscribers: Mapping[Topic, Sequence[NodeId]]
) -> dict[int, tuple[list[NodeId], Random]]:
    """By the number of a workload: who is to publish, and the stream that goes on to draw when."""
    found: dict[int, tuple[list[NodeId], Random]] = {}
    for number, workload in enumerate(scenario.workloads, start=1):
        if not isinstance(workload, Steady | Recorded):
            random = stream(scenario.seed, "workload", number)
            found[number] = draw(workload.publishers, subscribers[workload.topic], random), random
    return found


def _recorded(workload: Recorded, place: str, *, lenient: bool) -> Iterator[Input]:
    for turn, (node, topic) in enumerate(workload.events):
        at_us = round((workload.begin_ms + turn * workload.every_ms) * 1000)
        yield Input(at_us, node, "publish", topic, place, lenient=lenient)


def _topic_of(workload: Workload) -> Topic | None:
    """The one topic of a workload, if it has but one."""
    return None if isinstance(workload, Recorded) else workload.topic


def _acted(scenario: Scenario, tallies: Mapping[str, Tally]) -> Iterator[Input]:
    for number, action in enumerate(scenario.actions, start=1):
        at_us, place = round(action.at_ms * 1000), f"[[action]] {number}"
        yield Input(
            at_us,
            action.node,
            action.do,
            action.topic,
            place,
            sends=action.sends,
            tally=tallies.get(place),
        )


def _churned(
    scenario: Scenario,
    subscribers: Mapping[Topic, Sequence[NodeId]],
    publishers: Mapping[int, tuple[list[NodeId], Random]],
    tallies: Mapping[str, Tally],
) -> Iterator[Input]:
    """Lenient: who is down, or was told otherwise by an action, neither leaves nor joins."""
    for number, churn in enumerate(scenario.churns, start=1):
        topic, place = churn.topic, f"[[churn]] {number}"
        staying = {
            node
            for workload, (nodes, _) in publishers.items()
            if _topic_of(scenario.workloads[workload - 1]) == topic
            for node in nodes
        }
        random = stream(scenario.seed, "churn", number)
        for at_us, node, do in changes(churn, subscribers[topic], scenario.nodes, staying, random):
            yield Input(at_us, node, do, topic, place, lenient=True, tally=tallies.get(place))


def _steady(
    workload: Steady, subscribers: Sequence[NodeId], nodes: int, deeds: Sequence[Input], random: Random
) -> Iterator[tuple[int, NodeId]]:
    """Each event's time, and one of those who are subscribed just before; none if nobody is."""
    begin_us, end_us = (round(edge * 1000) for edge in workload.window_ms)
    at_us, every_us = float(random.randint(begin_us, end_us)), workload.every_ms * 1000
    membership = Membership(subscribers, nodes)
    mine = deque(each for each in deeds if each.topic == workload.topic)
    for _ in range(workload.count):
        while mine and mine[0].at_us < at_us:
            deed = mine.popleft()
            if deed.do in {"subscribe", "unsubscribe"}:
                membership.set(deed.node, present=deed.do == "subscribe")
        if membership.members:
            yield round(at_us), random.choice(membership.members)
        at_us += every_us if workload.spacing == "even" else random.expovariate(1 / every_us)


def _times_us(workload: Once | Burst | Periodic, random: Random) -> Iterator[int]:
    begin_us, end_us = (round(edge * 1000) for edge in workload.window_ms)
    first_us = random.randint(begin_us, end_us)
    match workload:
        case Once():
            yield first_us
        case Burst():
            yield from (first_us for _ in range(workload.count))
        case Periodic():
            yield from (first_us + round(turn * workload.every_ms * 1000) for turn in range(workload.count))
