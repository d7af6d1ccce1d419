"""The seen-set against one that keeps everything and looks at the ages."""

from hypothesis import given
from hypothesis import strategies as st

from treecast.structures.seen_set import SeenSet

STEPS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), max_size=80)


@given(STEPS, st.integers(1, 12), st.integers(1, 8))
def test_it_knows_what_was_added_of_late(steps: list[tuple[int, int]], ttl_us: int, size_max: int) -> None:
    seen: SeenSet[int] = SeenSet(ttl_us, size_max)
    kept: list[tuple[int, int]] = []  # all that is in it, the oldest first
    now_us = 0
    for item, gap_us in steps:
        now_us += gap_us
        kept = [(each, added_us) for each, added_us in kept if now_us - added_us < ttl_us]
        is_new = item not in [each for each, _ in kept]
        if is_new:
            kept = [*kept, (item, now_us)][-size_max:]
        assert seen.add(item, now_us) == is_new
        assert len(seen) == len(kept)
