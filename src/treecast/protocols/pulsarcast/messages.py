"""What nodes say to one another in a topic's tree.

A topic goes by its treecast name, for which `topics.TopicBook` knows the CID. Events travel as
their publisher made them: descriptor and envelope, bytes that nobody on the way can change.
"""

from typing import ClassVar

import msgspec

from treecast.core import EventId, NodeId, Topic
from treecast.protocols.pulsarcast.cids import Cid


class Carried(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """An event as it was sealed; what it is called (`id`, `cid`) is the sender's word until it is checked."""

    id: EventId
    cid: Cid
    data: bytes
    envelope: bytes


class TreeMessage(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Something about one topic, said to a neighbour in its tree or to one who shall become it."""

    topic: Topic
    origin: EventId
    """Who says it, and his count of what he has said; of an event, its id."""

    kind: ClassVar[str]
    is_ack: ClassVar[bool] = False
    event: ClassVar[None] = None


class Pub(TreeMessage, frozen=True, gc=False, array_like=True):
    """An event on its way through the tree."""

    carried: Carried

    kind: ClassVar[str] = "PUB"


class Join(TreeMessage, frozen=True, gc=False, array_like=True):
    """Be my parent. The topic's descriptor spares the other a lookup; `heads`: what I have."""

    descriptor: bytes
    heads: tuple[Cid, ...]

    kind: ClassVar[str] = "JOIN"


class Welcome(TreeMessage, frozen=True, gc=False, array_like=True):
    """You are my child, and I have a place. I have these heads, and of each source all up to `seen`."""

    heads: tuple[Cid, ...]
    seen: tuple[EventId, ...]

    kind: ClassVar[str] = "WELCOME"
    is_ack: ClassVar[bool] = True


class Wait(TreeMessage, frozen=True, gc=False, array_like=True):
    """You are my child, but I look for a place myself."""

    kind: ClassVar[str] = "WAIT"
    is_ack: ClassVar[bool] = True


class Refuse(TreeMessage, frozen=True, gc=False, array_like=True):
    """You are not my child: I am farther from the author than you are, or do not know you as one."""

    kind: ClassVar[str] = "REFUSE"
    is_ack: ClassVar[bool] = True


class Leave(TreeMessage, frozen=True, gc=False, array_like=True):
    """I leave the tree; to my children: `heir`, my parent, is nearer to the author than I was."""

    heir: NodeId | None

    kind: ClassVar[str] = "LEAVE"


class Beat(TreeMessage, frozen=True, gc=False, array_like=True):
    """I am your child still, and have these heads."""

    heads: tuple[Cid, ...]

    kind: ClassVar[str] = "BEAT"


class BeatBack(TreeMessage, frozen=True, gc=False, array_like=True):
    """I am your parent still, and have these heads."""

    heads: tuple[Cid, ...]

    kind: ClassVar[str] = "BEAT_BACK"
    is_ack: ClassVar[bool] = True


class Want(TreeMessage, frozen=True, gc=False, array_like=True):
    """Send me these, and of what comes before them what does not come before `known`."""

    events: tuple[Cid, ...]
    known: tuple[Cid, ...]

    kind: ClassVar[str] = "WANT"


class Given(TreeMessage, frozen=True, gc=False, array_like=True):
    """The answer, the nearest first; without some when I lack them, or when it is too much for once."""

    events: tuple[Carried, ...]

    kind: ClassVar[str] = "GIVEN"


class Ask(TreeMessage, frozen=True, gc=False, array_like=True):
    """Publish this for me: a descriptor that nobody has linked, and its author's signature."""

    data: bytes
    signature: bytes

    kind: ClassVar[str] = "ASK"


class Answer(TreeMessage, frozen=True, gc=False, array_like=True):
    """What came of the request of that origin: an event, or none for this reason."""

    published: EventId | None
    reason: str

    kind: ClassVar[str] = "ANSWER"
    is_ack: ClassVar[bool] = True
