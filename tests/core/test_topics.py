"""Topics: which names stand, what the refusal of a name says, and the hierarchy."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecast.core import Topic, TopicError, UsageError, covers, parent, parse_topic, segments
from treecast.core.topics import TOPIC_BYTES_MAX

segment_names = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=8)
topics = st.lists(segment_names, min_size=1, max_size=5).map(lambda names: parse_topic(".".join(names)))


@given(st.lists(segment_names, min_size=1, max_size=5))
def test_a_name_of_plain_segments_stands_as_it_is(names: list[str]) -> None:
    topic = parse_topic(".".join(names))
    assert topic == ".".join(names)
    assert segments(topic) == tuple(names)


@given(topics)
def test_the_parents_of_a_topic_lead_to_the_top_and_cover_it(topic: Topic) -> None:
    above: Topic | None = topic
    for depth in range(len(segments(topic)), 0, -1):
        assert above is not None
        assert segments(above) == segments(topic)[:depth]
        assert covers(above, topic)
        above = parent(above)
    assert above is None


@given(topics, topics)
def test_covering_is_being_the_beginning_of_the_path(one: Topic, other: Topic) -> None:
    assert covers(one, other) == (segments(other)[: len(segments(one))] == segments(one))


def test_a_common_prefix_of_letters_does_not_cover() -> None:
    assert covers(Topic("soccer"), Topic("soccer.italy"))
    assert not covers(Topic("soccer"), Topic("soccerball"))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", r"topic '' is empty; name at least one segment"),
        ("chat..room", r"empty segment \(number 2\); write 'chat\.room'"),
        (".chat", r"empty segment \(number 1\); write 'chat'"),
        ("chat.", r"empty segment \(number 2\); write 'chat'"),
        (".", r"empty segment \(number 1\); write 'chat\.room1'"),
        ("chat.my room", r"in segment 'my room'; use letters"),
        ("chat.a\nb", r"in segment 'a\\nb'; use letters"),
        (7, r"topic 7 is a int; a topic is text"),
    ],
)
def test_a_bad_name_is_refused_with_what_would_be_right(name: str, said: str) -> None:
    with pytest.raises(TopicError, match=said) as refusal:
        parse_topic(name)
    assert isinstance(refusal.value, UsageError)


@given(st.sampled_from(["a", "é", "語"]), st.integers(1, 2 * TOPIC_BYTES_MAX))
def test_the_length_counts_in_bytes(letter: str, letters: int) -> None:
    name = letter * letters
    size = letters * len(letter.encode())
    if size <= TOPIC_BYTES_MAX:
        assert parse_topic(name) == name
    else:
        with pytest.raises(TopicError, match=f"is {size} bytes long; at most {TOPIC_BYTES_MAX}"):
            parse_topic(name)
