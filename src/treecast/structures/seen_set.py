"""What was seen of late: a set that forgets, by age and by number.

Invariants: what was added less than `ttl_us` ago, and less than `size_max` others before now,
is in it; it holds no more than `size_max`, oldest first.
"""

from collections.abc import Hashable
from typing import Generic, TypeVar

Item = TypeVar("Item", bound=Hashable)


class SeenSet(Generic[Item]):
    """Items by the time at which they were first added."""

    __slots__ = ("_seen_us", "_size_max", "_ttl_us")

    def __init__(self, ttl_us: int, size_max: int) -> None:
        self._ttl_us = ttl_us
        self._size_max = size_max
        self._seen_us: dict[Item, int] = {}

    def __len__(self) -> int:
        return len(self._seen_us)

    def add(self, item: Item, now_us: int) -> bool:
        """Whether it is new; seeing it again keeps it no longer. `now_us` never goes back."""
        seen_us = self._seen_us
        while seen_us:
            oldest = next(iter(seen_us))
            if now_us - seen_us[oldest] < self._ttl_us:
                break
            del seen_us[oldest]
        if item in seen_us:
            return False
        if len(seen_us) >= self._size_max:
            del seen_us[next(iter(seen_us))]
        seen_us[item] = now_us
        return True
