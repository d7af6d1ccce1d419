"""The faults of a scenario, which befall messages and nodes, and the churn of its topics.

A fault lasts from the begin of its window to just before its end and is decided anew for
each message that is sent (a slow node: processed) in between; only who has crashed from the
start has no window. Churn changes who is subscribed; nobody crashes by it. Sources: VCube-PS
2018, section 4.5, VCube-PB, section 6, VCube-PS 2017, table II, and CAMCAST, section 6.1.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, TypeAlias

from treecast.core import ScenarioError, Topic
from treecast.core.keys import DELAY_US_MAX, Duration, Within, conform
from treecast.sim.scenario_keys import Selection, Window, check_window

Share: TypeAlias = Annotated[float, Within("a share", 0, 1, above=True)]
SomeMicroseconds: TypeAlias = Annotated[int, Within("whole microseconds", 0, DELAY_US_MAX, above=True)]


class Lasting:
    """What takes place in a window."""

    __slots__ = ()

    window_ms: Window

    def __post_init__(self) -> None:
        conform(self)
        check_window(self.window_ms)
        if self.window_ms[0] == self.window_ms[1]:
            raise ScenarioError(
                f"window_ms = [{self.window_ms[0]:g}, {self.window_ms[1]:g}] has no length; let it end later"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss(Lasting):
    """Of the messages from the senders to the receivers, this share never arrives."""

    kind: ClassVar[str] = "loss"

    share: Share
    window_ms: Window
    senders: Selection = "all"
    receivers: Selection = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplication(Lasting):
    """Of the messages from the senders to the receivers, this share arrives twice.

    The copy comes later than the message, by a time drawn up to `later_us_max`.
    """

    kind: ClassVar[str] = "duplication"

    share: Share
    window_ms: Window
    senders: Selection = "all"
    receivers: Selection = "all"
    later_us_max: SomeMicroseconds = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition(Lasting):
    """Nothing passes between `side` and the other nodes.

    `blocked`: "both" directions, or only what leaves the side ("out") or comes to it ("in").
    """

    kind: ClassVar[str] = "partition"

    side: Selection
    window_ms: Window
    blocked: Literal["both", "out", "in"] = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class Slow(Lasting):
    """Each message takes these nodes that much longer to process."""

    kind: ClassVar[str] = "slow"

    nodes: Selection
    longer_us: SomeMicroseconds
    window_ms: Window


@dataclass(frozen=True, slots=True, kw_only=True)
class Crashed:
    """These nodes have crashed before the run begins, and nobody has noticed (CAMCAST, section 6.1)."""

    kind: ClassVar[str] = "crashed"

    nodes: Selection
    publishers_stay: bool = False
    """Whom a workload has publish is not among them."""

    def __post_init__(self) -> None:
        conform(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen(Lasting):
    """Each node takes this share of the others for crashed, another one each (CAMCAST, section 6.1).

    Drawn once for each ordered pair of nodes: what the one sends to the other never arrives,
    though both are alive. So a node is crashed to some and alive to others, as a weakly
    consistent membership has it.
    """

    kind: ClassVar[str] = "unseen"

    share: Share
    window_ms: Window


Fault: TypeAlias = Loss | Duplication | Partition | Slow | Crashed | Unseen


@dataclass(frozen=True, slots=True, kw_only=True)
class Sessions(Lasting):
    """Who is subscribed stays for a session, exponential with that mean; who leaves is replaced at once.

    The other takes its place in the same instant and is drawn from all that are not
    subscribed, so that the number of subscribers stays what it is.
    """

    kind: ClassVar[str] = "sessions"

    topic: Topic
    session_ms_mean: Duration
    window_ms: Window


@dataclass(frozen=True, slots=True, kw_only=True)
class Turnover(Lasting):
    """Every `every_ms` up to `share_max` of the subscribers leave, and as many others join.

    How many is drawn each time, from none to that share, each number as likely.
    """

    kind: ClassVar[str] = "turnover"

    topic: Topic
    share_max: Share
    every_ms: Duration
    window_ms: Window
    publishers_stay: bool = False
    """Whom a workload has publish on the topic is not among the leavers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """So many of the subscribers leave and as many others join, each at a time drawn from the window."""

    kind: ClassVar[str] = "exchange"

    topic: Topic
    leavers: Selection
    window_ms: Window = (0.0, 0.0)
    publishers_stay: bool = False
    """Whom a workload has publish on the topic is not among the leavers."""

    def __post_init__(self) -> None:
        conform(self)
        check_window(self.window_ms)


Churn: TypeAlias = Sessions | Turnover | Exchange
