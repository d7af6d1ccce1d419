"""The view of a topic against the rule written naively: the latest operation of each node wins."""

from hypothesis import given
from hypothesis import strategies as st

from treecast.protocols.vcube.messages import Membership
from treecast.protocols.vcube.view import TopicView
from treecast.structures import hypercube

NODES = 16


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[int], list[Membership]]:
    """Who stands at the beginning, and what each node does later, told in any order and repeatedly."""
    initial = sorted(draw(st.sets(st.integers(0, NODES - 1))))
    told = []
    for node in draw(st.sets(st.integers(0, NODES - 1))):
        counter = 0
        subscribed = node in initial
        for step in draw(st.lists(st.integers(1, 3), max_size=5)):
            counter += step
            subscribed = not subscribed
            told.append(Membership(node, subscribed, counter, 0))
        if node in initial:
            told.append(Membership(node, True, 0, 0))
    repeated = told + (draw(st.lists(st.sampled_from(told), max_size=5)) if told else [])
    return initial, draw(st.permutations(repeated))


@given(histories(), st.integers(0, NODES - 1), st.lists(st.integers(1, 6), max_size=6))
def test_the_latest_operation_of_each_node_wins_in_whatever_order_they_are_told(
    history: tuple[list[int], list[Membership]], node: int, portions: list[int]
) -> None:
    initial, told = history
    view = TopicView(node, tuple(initial))
    latest = dict.fromkeys(initial, (0, True))
    ahead = list(told)
    for portion in [*portions, len(told)]:
        members_before = view.members
        content_before = list(members_before)
        now, ahead = ahead[:portion], ahead[portion:]
        view.update(now)
        for operation in now:
            latest[operation.node] = max(
                latest.get(operation.node, (-1, False)), (operation.counter, operation.subscribed)
            )
        expected = sorted(each for each, (_, subscribed) in latest.items() if subscribed)
        assert list(view.members) == expected
        assert list(view.members) == expected
        assert list(members_before) == content_before, "nodes share it"
        for h in range(5):
            assert view.children(h) == hypercube.children(node, expected, h)
        for sender in range(NODES):
            if sender != node:
                behind = hypercube.cluster(node, sender) - 1
                assert view.children_behind(sender) == hypercube.children(node, expected, behind)
