"""The topics of a network: their names in treecast, and the descriptors that stand for them.

Where an application has a topic's CID, it has it from somebody. In a simulation all know the
scenario's topics, so this module gives each a descriptor that every node derives alike: made
by the topic's owner at the beginning of time. A topic named by a CID's text stands for that
CID, whose descriptor must be found in the DHT.

Invariants: one name stands for one CID at all nodes; a meta topic stands beside its topic,
under the name with `.meta` added.
"""

from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

from treecast.core import NodeId, Topic, UsageError
from treecast.protocols.pulsarcast.cids import Cid, parse_cid
from treecast.protocols.pulsarcast.descriptors import (
    ANYONE,
    EVERYONE,
    META,
    EventLinking,
    TopicDescriptor,
    Whitelist,
    created_at,
)
from treecast.protocols.pulsarcast.identity import key_of, simulated_identity
from treecast.protocols.pulsarcast.settings import PulsarcastSettings
from treecast.protocols.setup import Setup

EPOCH_MS = 1_577_836_800_000
"""When a simulation's clock stands at 0: 2020-01-01, so that descriptors have their dates."""


def stamp(now_us: int) -> str:
    """A time of the host's clock as descriptors have it."""
    return created_at(EPOCH_MS + now_us // 1000)


@dataclass(frozen=True, slots=True)
class Known:
    """A topic that is known beforehand."""

    owner: NodeId
    descriptor: TopicDescriptor
    meta: TopicDescriptor


class TopicBook:
    """What names stand for."""

    def __init__(self, setup: Setup) -> None:
        settings = setup.settings
        assert isinstance(settings, PulsarcastSettings), "the registry names the class of settings"
        self._setup = setup
        self._ordered = settings.publishers == "author"
        self._custom = settings.linking == "custom"

    def owner(self, topic: Topic) -> NodeId:
        """Who makes a topic: whom the set-up names, else its first subscriber, else one drawn by its name."""
        owner = self._setup.owners.get(topic)
        if owner is not None:
            return owner
        subscribers = self._setup.subscribers.get(topic)
        if subscribers:
            return subscribers[0]
        nodes = self._setup.nodes
        return nodes[int.from_bytes(sha256(topic.encode()).digest()[:8], "big") % len(nodes)]

    def owned(self, node: NodeId) -> list[Topic]:
        """The topics of the set-up that this node is to make."""
        topics = dict.fromkeys([*self._setup.owners, *self._setup.subscribers])
        return [topic for topic in topics if self.owner(topic) == node]

    def known(self, topic: Topic) -> Known:
        owner = self.owner(topic)
        return _known(topic, owner, self._ordered, self._custom)

    def cid(self, topic: Topic) -> Cid:
        try:
            return parse_cid(topic)
        except UsageError:
            return self.known(topic).descriptor.cid_bytes


@lru_cache(maxsize=4096)
def _known(topic: Topic, owner: NodeId, ordered: bool, custom: bool) -> Known:
    author = simulated_identity(owner).peer
    linking = EventLinking.CUSTOM if custom else EventLinking.LAST_SEEN
    allowed = Whitelist(True, (author,)) if ordered else EVERYONE
    about = {"author": author, "created": stamp(0), "request_to_publish": ANYONE}
    meta = TopicDescriptor(
        name=f"{topic}.{META}",
        allowed_publishers=Whitelist(True, (author,)),
        **about,  # type: ignore[arg-type]
    )
    descriptor = TopicDescriptor(
        name=topic,
        allowed_publishers=allowed,
        event_linking=linking,
        sub_topics={META: meta.cid_bytes},
        **about,  # type: ignore[arg-type]
    )
    return Known(owner, descriptor, meta)


def distance(node: NodeId, key: int) -> int:
    """How far a node is from a place in the DHT's space."""
    return key_of(node) ^ key
