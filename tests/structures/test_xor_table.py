"""k-buckets against a plain list of all contacts, and by their invariants."""

from hypothesis import given
from hypothesis import strategies as st

from treecast.structures.xor_table import KEY_BITS, Contact, XorTable

OWN = 0x5A << (KEY_BITS - 8)
KEYS = st.one_of(
    st.integers(0, (1 << KEY_BITS) - 1),
    st.builds(lambda bits, low: OWN ^ (1 << bits) ^ (low % (1 << bits)), st.integers(0, 255), st.integers(0)),
)
STEPS = st.lists(st.tuples(st.sampled_from(["seen", "seen", "drop"]), KEYS), max_size=120)


def filled(steps: list[tuple[str, int]], size: int) -> tuple[XorTable, dict[int, int]]:
    """A table after these steps, and of each key when it was last seen."""
    table, last = XorTable(OWN, size), dict[int, int]()
    keys = [key for _, key in steps]
    for turn, (do, key) in enumerate(steps):
        if do == "seen":
            table.seen(Contact(key, turn))
            last[key] = turn
        else:
            table.drop(keys[key % len(keys)])
    return table, last


@given(STEPS, st.integers(1, 5))
def test_every_contact_is_in_its_bucket_and_none_is_too_full(steps: list[tuple[str, int]], size: int) -> None:
    table, _ = filled(steps, size)
    total = 0
    for number, contacts in enumerate(table.buckets):
        low, high = table.distance_range(number)
        assert len(contacts) <= size
        assert all(low <= each.key ^ OWN <= high for each in contacts)
        total += len(contacts)
    assert total == len(table)
    assert OWN not in table


@given(st.lists(KEYS, unique=True, max_size=60), st.integers(1, 5), KEYS, st.integers(0, 70))
def test_closest_is_what_sorting_all_contacts_gives(keys: list[int], size: int, key: int, count: int) -> None:
    table, _ = filled([("seen", each) for each in keys], size)
    everyone = [contact for contacts in table.buckets for contact in contacts]
    by_distance = sorted(everyone, key=lambda contact: contact.key ^ key)
    assert table.closest(key, count) == by_distance[:count]
    assert table.nearest(key) == (by_distance[0] if by_distance else None)


@given(st.lists(KEYS, unique=True, min_size=1, max_size=60), st.integers(1, 5))
def test_the_nearest_are_never_lost(keys: list[int], size: int) -> None:
    """The last bucket splits rather than refuse: whoever is in its range is known."""
    table, _ = filled([("seen", each) for each in keys], size)
    low, high = table.distance_range(len(table.buckets) - 1)
    assert all(key in table for key in keys if low <= key ^ OWN <= high)


@given(STEPS, st.integers(1, 5))
def test_a_buckets_contacts_stand_by_when_last_seen(steps: list[tuple[str, int]], size: int) -> None:
    """Nobody but one who takes another's place is older than who stands before it."""
    seen = [(do, key) for do, key in steps if do == "seen"]
    table, last = filled(seen, size)
    for contacts in table.buckets:
        times = [last[each.key] for each in contacts]
        assert times == sorted(times)


@given(st.lists(KEYS, unique=True, max_size=60), st.integers(1, 4))
def test_a_newcomer_waits_while_the_oldest_answers(keys: list[int], size: int) -> None:
    table = XorTable(OWN, size)
    for turn, key in enumerate(keys):
        whole = dict(enumerate(table.buckets))
        oldest = table.seen(Contact(key, turn))
        if oldest is None:
            assert key == OWN or key in table
            continue
        assert key not in table
        assert oldest in [contacts[0] for contacts in whole.values() if contacts]
        table.drop(oldest.key)
        assert key in table, "the newest of those who wait takes the place of who is gone"
        assert oldest.key not in table
