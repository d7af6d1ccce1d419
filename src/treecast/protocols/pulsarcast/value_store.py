"""What a node of the DHT keeps for others: content once, of a topic's members one record each.

Invariants: what is kept belongs under its key (`belongs`); nothing is kept beyond its time;
at most `PROVIDERS_MAX` records lie under one key, and `values_max` values in all.
"""

from dataclasses import dataclass

from treecast.protocols.pulsarcast.cids import PeerId
from treecast.protocols.pulsarcast.dht_messages import Content, Value

PROVIDERS_MAX = 128
"""More would let anybody fill the memory of the nodes near a key."""


@dataclass(slots=True)
class Kept:
    """One value; `stored_us`: when somebody last said that it is to be kept."""

    value: Value
    expires_us: int
    stored_us: int


class ValueStore:
    """Values by key."""

    __slots__ = ("_contents", "_lifetime_us", "_providers", "_values_max")

    def __init__(self, lifetime_us: int, values_max: int) -> None:
        self._lifetime_us = lifetime_us
        self._values_max = values_max
        self._contents: dict[bytes, Kept] = {}
        self._providers: dict[bytes, dict[PeerId, Kept]] = {}

    def __len__(self) -> int:
        return len(self._contents) + sum(map(len, self._providers.values()))

    def keep(self, key: bytes, value: Value, now_us: int) -> bool:
        """Keep it, or keep it longer; False when there is no room."""
        kept = Kept(value, now_us + self._lifetime_us, now_us)
        if isinstance(value, Content):
            old = self._contents.get(key)
            if old is None and len(self._contents) >= self._values_max:
                return False
            if old is not None and (old.value.envelope or not value.envelope):  # type: ignore[union-attr]
                kept.value = old.value  # the first signature on it is as good as any later one
            self._contents[key] = kept
            return True
        records = self._providers.setdefault(key, {})
        known = records.get(value.peer)
        if known is None and len(records) >= PROVIDERS_MAX:
            return False
        if known is None or known.value.issued_us <= value.issued_us:  # type: ignore[union-attr]
            records[value.peer] = kept
        return True

    def values(self, key: bytes, now_us: int, *, providers: bool = False) -> tuple[Value, ...]:
        """What lies under the key; members stand in the order in which they were first heard of."""
        found: list[Kept] = []
        if providers:
            found += self._providers.get(key, {}).values()
        elif (kept := self._contents.get(key)) is not None:
            found.append(kept)
        return tuple(each.value for each in found if each.expires_us > now_us)

    def forget_expired(self, now_us: int) -> int:
        """Drop what is past its time; return how many."""
        before = len(self)
        self._contents = {key: kept for key, kept in self._contents.items() if kept.expires_us > now_us}
        for key, records in list(self._providers.items()):
            left = {peer: kept for peer, kept in records.items() if kept.expires_us > now_us}
            if left:
                self._providers[key] = left
            else:
                del self._providers[key]
        return before - len(self)

    def content_due(self, stored_before_us: int) -> list[tuple[bytes, Value]]:
        """Content that nobody has stored here since then: this node is to store it anew."""
        return [
            (key, kept.value) for key, kept in self._contents.items() if kept.stored_us <= stored_before_us
        ]
