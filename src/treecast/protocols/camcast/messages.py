"""The messages of CAMCAST and of the memberships below it (sections 3.3 to 3.5; SCAMP; repair).

`topic` is the group that a message is about. Only `Pub` and `Repair` carry events; all else
speaks of processes, or of events by their ids.
"""

from typing import ClassVar

import msgspec

from treecast.core import EventId, NodeId, Topic
from treecast.protocols.vcube.messages import Pub as EventMessage


class Pub(EventMessage, frozen=True, gc=False, array_like=True):
    """An event, gossiped within a community, or sent up to one."""

    community: Topic
    """Of whom it is sent to: the event's topic, or one that includes it."""
    upward: float | None = None
    """The event's own p_sel, in place of each community's."""


class Repair(Pub, frozen=True, gc=False, array_like=True):
    """An event that the receiver had missed."""

    age_us: int = 0
    """How long ago it was published, at least."""
    spread: bool = False
    """Nobody in the receiver's community may have it: he gossips it."""

    kind: ClassVar[str] = "REPAIR"


class GroupMessage(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One about a group, not about an event."""

    topic: Topic

    kind: ClassVar[str]
    is_ack: ClassVar[bool] = False
    origin: ClassVar[None] = None
    event: ClassVar[None] = None


class Links(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Some entries of a super-topic table, as processes of one community tell one another."""

    parent: Topic
    of: Topic
    """Whose community the members are: the parent, or the next topic above it that has any."""
    members: tuple[NodeId, ...]


# -- SCAMP ------------------------------------------------------------------------------------


class Join(GroupMessage, frozen=True, gc=False, array_like=True):
    """A subscription on its way to the contact that will spread it."""

    subscriber: NodeId
    number: int
    """Of the subscriber's subscriptions; copies of one are told from those of another by it."""
    steps: int
    """Random steps that are left to go; below 0 those that were gone beyond."""
    copies: int
    """How many a renewal asks for; 0: as many as the contact's view holds."""

    kind: ClassVar[str] = "JOIN"


class Forward(GroupMessage, frozen=True, gc=False, array_like=True):
    """One copy of a subscription, looking for a view that keeps it."""

    subscriber: NodeId
    number: int
    hops: int

    kind: ClassVar[str] = "FORWARD"


class Kept(GroupMessage, frozen=True, gc=False, array_like=True):
    """The sender has taken the receiver into its view."""

    besides: bool
    """As its contact or in a leaver's place, so besides the copies of a subscription."""

    kind: ClassVar[str] = "KEPT"


class Welcome(GroupMessage, frozen=True, gc=False, array_like=True):
    """The contact has spread the receiver's subscription, in so many copies."""

    copies: int
    mean: float
    links: tuple[Links, ...]

    kind: ClassVar[str] = "WELCOME"


class Replace(GroupMessage, frozen=True, gc=False, array_like=True):
    """The sender leaves; its place in the receiver's view is for `substitute`, or for nobody."""

    substitute: NodeId | None

    kind: ClassVar[str] = "REPLACE"


class Beat(GroupMessage, frozen=True, gc=False, array_like=True):
    """The sender has the receiver in its view; `size`: how many it has there, `mean`: its running mean."""

    size: int
    mean: float
    links: tuple[Links, ...]

    kind: ClassVar[str] = "BEAT"


class Heard(GroupMessage, frozen=True, gc=False, array_like=True):
    """The answer to a Beat."""

    kind: ClassVar[str] = "HEARD"


class Gone(GroupMessage, frozen=True, gc=False, array_like=True):
    """The sender is not, or no more, of this group."""

    kind: ClassVar[str] = "GONE"


# -- contacts ---------------------------------------------------------------------------------


class ReqContact(GroupMessage, frozen=True, gc=False, array_like=True):
    """REQ_CONTACT: who knows processes of one of the topics in `scope`, the first ones rather?"""

    parent: Topic | None
    """Whose super-topic table is to be filled; None: the requester's own group is to be joined."""
    requester: NodeId
    number: int
    scope: tuple[Topic, ...]
    ttl: int

    kind: ClassVar[str] = "REQCONTACT"


class Find(GroupMessage, frozen=True, gc=False, array_like=True):
    """The lookup service is asked for members of `of`."""

    parent: Topic | None
    of: Topic
    count: int

    kind: ClassVar[str] = "FIND"


class AnsContact(GroupMessage, frozen=True, gc=False, array_like=True):
    """ANS_CONTACT, and the answer to a Find: some members of `of`; `size`: how many there are, if known."""

    parent: Topic | None
    of: Topic
    members: tuple[NodeId, ...]
    size: int | None = None

    kind: ClassVar[str] = "ANSCONTACT"


class Announce(GroupMessage, frozen=True, gc=False, array_like=True):
    """The lookup service is told that the sender is in the group, or no more."""

    present: bool

    kind: ClassVar[str] = "ANNOUNCE"


# -- keeping communities in touch -------------------------------------------------------------


class Check(GroupMessage, frozen=True, gc=False, array_like=True):
    """Is the receiver alive and in this super-community? `community` asks for its table `parent`."""

    community: Topic
    parent: Topic

    kind: ClassVar[str] = "CHECK"


class Alive(GroupMessage, frozen=True, gc=False, array_like=True):
    """The answer to a Check."""

    community: Topic
    parent: Topic

    kind: ClassVar[str] = "ALIVE"


class NewProcess(GroupMessage, frozen=True, gc=False, array_like=True):
    """NEW_PROCESS: the receiver is asked for others of its community; answered by an AnsContact."""

    community: Topic
    parent: Topic

    kind: ClassVar[str] = "NEWPROCESS"


# -- repair -----------------------------------------------------------------------------------


class Digest(GroupMessage, frozen=True, gc=False, array_like=True):
    """What the sender remembers of a community's events, of those with ids from `low` up to `high`."""

    ids: tuple[EventId, ...]
    ages_us: tuple[int, ...]
    low: EventId | None
    high: EventId | None
    since_us: int | None
    """How long the sender has been in the community; None: it is not of it, and only offers."""
    source: Topic
    """The sender's own community."""
    comparer: NodeId | None = None
    """Whose digest it is and who is to be answered, when others have passed it on."""
    passed: int = 0
    """How often that has been."""

    kind: ClassVar[str] = "DIGEST"


class Want(GroupMessage, frozen=True, gc=False, array_like=True):
    """The events of a Digest that its receiver, of the community `topic`, has missed."""

    ids: tuple[EventId, ...]
    source: Topic

    kind: ClassVar[str] = "WANT"
