"""One process's part in one community: its tables, what it remembers, how far events go from it.

Section 3.5's DISSEMINATE is here, without the sending: whom an event goes to.

Invariant: every draw is from the host's stream, in an order that the tables' orders decide.
"""

from collections.abc import Iterator
from random import Random

from treecast.core import NodeId, Topic
from treecast.protocols.camcast.membership import Membership
from treecast.protocols.camcast.messages import Links
from treecast.protocols.camcast.settings import CamcastSettings
from treecast.protocols.camcast.super_table import SuperTopicTable
from treecast.structures.event_log import EventLog


class Community:
    """What a process keeps of a topic that it participates in, as a subscriber, a publisher or both."""

    __slots__ = (
        "cursor",
        "joined",
        "log",
        "membership",
        "registered",
        "since_us",
        "subscribed",
        "tables",
        "topic",
    )

    def __init__(
        self,
        topic: Topic,
        membership: Membership,
        tables: tuple[SuperTopicTable, ...],
        log: EventLog,
        since_us: int,
    ) -> None:
        self.topic = topic
        self.membership = membership
        self.tables = tables
        self.subscribed = False
        self.registered = False
        self.joined = False
        self.since_us = since_us
        """Since when it participates: what was published before is not for it."""
        self.log = log
        self.cursor: dict[Topic | None, object] = {}
        """How far the digests have come, by whom they are for (`repair`)."""

    @property
    def entries(self) -> int:
        """How many processes its tables name: the paper's memory complexity."""
        return len(self.membership.view) + sum(len(table.view) for table in self.tables)

    def table(self, parent: Topic | None) -> SuperTopicTable | None:
        return next((table for table in self.tables if table.parent == parent), None)

    def psel(self, settings: CamcastSettings, upward: float | None = None) -> float:
        """With what probability this process links its community to the one above: g / N."""
        if upward is not None:
            return upward
        if settings.psel is not None:
            return settings.psel
        return min(1.0, settings.g / self.membership.size())

    def upward(
        self, random: Random, settings: CamcastSettings, upward: float | None
    ) -> Iterator[tuple[NodeId, Topic]]:
        """Whom an event goes to above, and of which community they are (figure 8, lines 3 to 7)."""
        psel, pa = self.psel(settings, upward), settings.a / settings.z
        for table in self.tables:
            if table.of is not None and random.random() < psel:
                for node in table.view.members:
                    if random.random() < pa:
                        yield node, table.of

    def targets(self, random: Random) -> list[NodeId]:
        """Whom an event goes to inside the community (figure 8, lines 8 to 14)."""
        return self.membership.view.sample(random, self.membership.fan_out)

    def links(self) -> tuple[Links, ...]:
        """What others of the community may take over from the super-topic tables."""
        return tuple(links for table in self.tables if (links := table.links()) is not None)
