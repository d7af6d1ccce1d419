"""Keys that several tables of a scenario share: which nodes, and when.

Invariant: what a `Selection` stands for is drawn by a stream of the table's own, or
listed; how many nodes it stands for is known without drawing.
"""

from collections.abc import Sequence
from random import Random
from typing import Annotated, Literal, TypeAlias

from treecast.core import NodeId, ScenarioError, Topic
from treecast.core.keys import COUNT_MAX, Milliseconds, Within, nearest, shown

Selection: TypeAlias = (
    Literal["all"]
    | Annotated[float, Within("a share", 0, 1, above=True)]
    | Annotated[int, Within("a count", 0, COUNT_MAX)]
    | tuple[NodeId, ...]
)
"""Which nodes: "all", a share of them (float), a count (int), or these very ones.

`1.0` is the share that takes all, `1` the count that takes one.
"""

Window: TypeAlias = tuple[Milliseconds, Milliseconds]
Sends: TypeAlias = Annotated[int, Within("a count", 0, COUNT_MAX)]
"""After how many more messages a node crashes in mid-send."""


def selected_count(selection: Selection, population: int) -> int:
    """How many nodes `selection` stands for when it is drawn from `population`.

    A share stands for the nearest number, and for one node at least.
    """
    if isinstance(selection, str):
        return population
    if isinstance(selection, float):
        return max(1, round(selection * population))
    return selection if isinstance(selection, int) else len(selection)


def draw(selection: Selection, population: Sequence[NodeId], random: Random) -> list[NodeId]:
    """The nodes that `selection` stands for, ascending."""
    if isinstance(selection, tuple):
        return sorted(selection)
    return sorted(random.sample(population, selected_count(selection, len(population))))


def check_window(window_ms: tuple[float, float]) -> None:
    begin, end = window_ms
    if begin > end:
        raise ScenarioError(
            f"window_ms = {shown(window_ms)} ends before it begins; write {shown([end, begin])}"
        )


def check_node(key: str, node: NodeId, nodes: int) -> None:
    if not 0 <= node < nodes:
        raise ScenarioError(f"{key}: node {node} is out of range; the nodes are 0 to {nodes - 1}")


def check_selection(key: str, selection: Selection, population: int, whom: str, nodes: int) -> None:
    if isinstance(selection, tuple):
        listed: set[NodeId] = set()
        for node in selection:
            check_node(key, node, nodes)
            if node in listed:
                raise ScenarioError(f"{key}: node {node} is listed twice; list each node once")
            listed.add(node)
    elif selected_count(selection, population) > population:
        raise ScenarioError(f"{key} = {shown(selection)}; there are only {population} {whom} to draw from")


def check_topic(place: str, topic: Topic, declared: list[Topic]) -> None:
    if topic not in declared:
        near = nearest(topic, list[str](declared))
        raise ScenarioError(f"{place}topic = {shown(topic)} is declared by no [[topic]]; {near}")
