"""A node's k-buckets: the contacts that it knows, few of the far ones, all of the near (Kademlia, section 2).

A bucket holds the contacts at one range of XOR distances, least recently seen first. The
last one holds all that are nearer than the others' ranges; only that one splits, as only it
covers the node's own key. A full bucket takes no newcomer while its oldest contact
answers: who has been there for long is likely to stay. So `seen` names whom to ping, and
the newcomer waits.

Invariants:
- every contact is in the one bucket that its distance gives, at most `size` in each; the
  own key is in none;
- a bucket's contacts stand by when they were last seen, the oldest first;
- a contact waits only where its bucket is full, at most `size` in each.
"""

from heapq import nsmallest
from typing import NamedTuple

KEY_BITS = 256


class Contact(NamedTuple):
    """A peer: its key in the table's space, and by what it is reached."""

    key: int
    node: int


class Bucket:
    """Contacts at one range of distances."""

    __slots__ = ("contacts", "waiting")

    def __init__(self) -> None:
        self.contacts: dict[int, Contact] = {}  # by key, least recently seen first
        self.waiting: dict[int, Contact] = {}  # would come in for one that is gone; the newest last


class XorTable:
    """The k-buckets of the node whose key is `own`."""

    __slots__ = ("_buckets", "_contacts", "_own", "_size")

    def __init__(self, own: int, size: int) -> None:
        """`size`: the paper's k, how many contacts a bucket holds."""
        self._own = own
        self._size = size
        self._buckets = [Bucket()]
        self._contacts: dict[int, Contact] = {}  # all that are in buckets, by key

    def __len__(self) -> int:
        return len(self._contacts)

    def __contains__(self, key: int) -> bool:
        return key in self._contacts

    @property
    def buckets(self) -> list[tuple[Contact, ...]]:
        """What is in each bucket, the farthest first."""
        return [tuple(bucket.contacts.values()) for bucket in self._buckets]

    def seen(self, contact: Contact) -> Contact | None:
        """Note that a contact is alive; return whom to ping, if it found its bucket full."""
        key = contact.key
        if key == self._own:
            return None
        bucket = self._bucket_of(key)
        if key in bucket.contacts:
            bucket.contacts[key] = bucket.contacts.pop(key)
            return None
        while len(bucket.contacts) >= self._size:
            if bucket is not self._buckets[-1] or len(self._buckets) == KEY_BITS:
                return self._let_wait(bucket, contact)
            self._split()
            bucket = self._bucket_of(key)
        bucket.waiting.pop(key, None)
        bucket.contacts[key] = self._contacts[key] = contact
        return None

    def drop(self, key: int) -> None:
        """A contact has not answered: the newest of those who wait takes its place."""
        bucket = self._bucket_of(key)
        bucket.waiting.pop(key, None)
        if bucket.contacts.pop(key, None) is not None:
            del self._contacts[key]
            if bucket.waiting:
                _, heir = bucket.waiting.popitem()
                bucket.contacts[heir.key] = self._contacts[heir.key] = heir

    def closest(self, key: int, count: int) -> list[Contact]:
        """The `count` contacts that are nearest to `key`, the nearest first."""
        if count >= len(self._contacts):
            order = sorted([each ^ key for each in self._contacts])
        else:
            order = nsmallest(count, [each ^ key for each in self._contacts])
        contacts = self._contacts
        return [contacts[distance ^ key] for distance in order]

    def nearest(self, key: int) -> Contact | None:
        """The contact that is nearest to `key`."""
        if not self._contacts:
            return None
        return self._contacts[min([each ^ key for each in self._contacts]) ^ key]

    def distance_range(self, number: int) -> tuple[int, int]:
        """The lowest and highest distance of contacts in bucket `number`; 0 is the farthest one."""
        low = 1 if number == len(self._buckets) - 1 else 1 << (KEY_BITS - 1 - number)
        return low, (1 << (KEY_BITS - number)) - 1

    def _bucket_of(self, key: int) -> Bucket:
        shared = KEY_BITS - (self._own ^ key).bit_length()
        return self._buckets[min(shared, len(self._buckets) - 1)]

    def _split(self) -> None:
        """Cut the last bucket in two: the half of the own key, and the other."""
        whole, half = self._buckets[-1], Bucket()
        number = len(self._buckets) - 1
        self._buckets.append(half)
        for kept, given in ((whole.contacts, half.contacts), (whole.waiting, half.waiting)):
            for key in [key for key in kept if KEY_BITS - (self._own ^ key).bit_length() > number]:
                given[key] = kept.pop(key)

    def _let_wait(self, bucket: Bucket, contact: Contact) -> Contact:
        bucket.waiting.pop(contact.key, None)
        bucket.waiting[contact.key] = contact
        if len(bucket.waiting) > self._size:
            del bucket.waiting[next(iter(bucket.waiting))]
        return next(iter(bucket.contacts.values()))
