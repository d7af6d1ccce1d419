"""The event graph against the definitions, over histories that come in any order."""

from hypothesis import given
from hypothesis import strategies as st

from treecast.structures.event_graph import EventGraph

History = dict[int, tuple[int, ...]]


@st.composite
def histories(draw: st.DrawFn) -> tuple[History, list[int]]:
    """Events 0.. that link to earlier ones, and the order in which some of them come."""
    count = draw(st.integers(1, 12))
    history = {
        event: tuple(draw(st.lists(st.integers(0, event - 1), max_size=3))) if event else ()
        for event in range(count)
    }
    return history, draw(st.lists(st.integers(0, count - 1), max_size=20))


def all_before(history: History, event: int) -> set[int]:
    found = set(history[event])
    for parent in history[event]:
        found |= all_before(history, parent)
    return found


@given(histories())
def test_it_is_what_the_definitions_say(drawn: tuple[History, list[int]]) -> None:
    history, order = drawn
    graph: EventGraph[int] = EventGraph()
    here: set[int] = set()
    told: list[int] = []
    for event in order:
        told += graph.add(event, history[event])
        here.add(event)
        named = {parent for each in here for parent in history[each]}
        assert {each for each in history if each in graph} == here
        assert len(graph) == len(here)
        assert set(graph.missing) == named - here
        assert set(graph.heads) == here - named
        complete = {each for each in here if all_before(history, each) <= here}
        assert set(told) == set(graph.complete) == complete
    assert list(graph.complete) == told
    assert len(set(told)) == len(told)
    for place, event in enumerate(told):
        assert set(history[event]) <= set(told[:place])


@given(histories(), st.data())
def test_a_walk_back_goes_up_to_what_is_known(drawn: tuple[History, list[int]], data: st.DataObject) -> None:
    history, order = drawn
    graph: EventGraph[int] = EventGraph()
    for event in order:
        graph.add(event, history[event])
    begin = data.draw(st.lists(st.sampled_from(sorted(history)), max_size=3))
    known = data.draw(st.sets(st.sampled_from(sorted(history)), max_size=3))
    walked = list(graph.before(begin, known))
    assert len(set(walked)) == len(walked)
    expected, ahead = set(), list(begin)
    while ahead:
        event = ahead.pop()
        if event not in known and event not in expected and event in graph:
            expected.add(event)
            ahead.extend(history[event])
    assert set(walked) == expected


@given(histories())
def test_what_is_given_up_holds_nothing_back(drawn: tuple[History, list[int]]) -> None:
    history, order = drawn
    graph: EventGraph[int] = EventGraph()
    for event in order:
        graph.add(event, history[event])
    while graph.missing:
        graph.give_up(next(iter(graph.missing)))
    assert set(graph.complete) >= set(order)
    assert graph.give_up(min(history)) == ()


def test_a_long_history_is_no_deep_call() -> None:
    graph: EventGraph[int] = EventGraph()
    length = 50_000
    for event in range(length - 1, 0, -1):
        assert graph.add(event, (event - 1,)) == ()
    assert list(graph.missing) == [0]
    assert list(graph.add(0, ())) == list(range(length))
    assert list(graph.before([length - 1])) == list(range(length - 1, -1, -1))
