"""The topic hierarchy: by names, and with several parents."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecast.core import Hierarchy, Topic, TopicError, covers

ITALY, SOCCER, COUNTRIES = Topic("soccer.italy"), Topic("soccer"), Topic("countries")
names = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(lambda parts: Topic(".".join(parts)))


@given(names, names)
def test_names_alone_give_the_hierarchy_of_names(above: Topic, below: Topic) -> None:
    assert Hierarchy().covers(above, below) == covers(above, below)


def test_the_parent_in_the_name_comes_first() -> None:
    hierarchy = Hierarchy({ITALY: [COUNTRIES, SOCCER]})
    assert hierarchy.parents(ITALY) == (SOCCER, COUNTRIES)
    assert hierarchy.parents(SOCCER) == ()
    assert hierarchy.covers(COUNTRIES, ITALY)
    assert not hierarchy.covers(ITALY, COUNTRIES)


def test_a_super_topic_stands_once_where_it_is_nearest() -> None:
    fans = Topic("soccer.italy.fans")
    hierarchy = Hierarchy({ITALY: [COUNTRIES], fans: [SOCCER], COUNTRIES: [Topic("world")]})
    assert hierarchy.generations(fans) == ((ITALY, SOCCER), (COUNTRIES,), (Topic("world"),))
    assert hierarchy.above(fans) == (ITALY, SOCCER, COUNTRIES, Topic("world"))


@given(st.dictionaries(names, st.lists(names, max_size=3), max_size=5))
def test_above_is_the_closure_of_parents_and_no_topic_includes_itself(
    further: dict[Topic, list[Topic]],
) -> None:
    def closure(topic: Topic) -> set[Topic]:
        found: set[Topic] = set()
        left = [topic]
        while left:
            each = left.pop()
            head = Topic(each.rpartition(".")[0])
            for parent in ([head] if head else []) + further.get(each, []):
                if parent not in found:
                    found.add(parent)
                    left.append(parent)
        return found

    reached = {each for topic in further for each in closure(topic)} | set(further)
    cyclic = any(topic in closure(topic) for topic in reached)
    if cyclic:
        with pytest.raises(TopicError, match="would include itself"):
            Hierarchy(further)
        return
    hierarchy = Hierarchy(further)
    for topic in reached:
        assert set(hierarchy.above(topic)) == closure(topic)
        assert len(hierarchy.above(topic)) == len(closure(topic))
