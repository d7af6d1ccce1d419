"""The journal: one event schema, written by simulator and nodes, read by checkers and Spark.

A journal is a table of what happened at the nodes, ordered by (time_us, node), and at
one node and instant in the order in which it happened there.

Columns:
- run          names the run
- time_us      the host's clock, microseconds
- node         where it happened (`core.journal_number`)
- kind         what happened, see `Kind`
- message      for send and receive: the message's kind (PUB, SUB, UNS, ACK ...)
- topic        the topic it is about
- source       the node that started the broadcast; for an event, its publisher
- sequence     the source's counter: (source, sequence) is the identity of an event
- peer         for send and receive: the other end of this hop; for suspect and trust: about whom;
               for hangs: the parent
- barrier_size for publish and deliver, and PUBs on their way: how many parents the event has
"""

from enum import StrEnum

import pyarrow as pa

JOURNAL_VERSION = 1
"""Raised when a reader of the older version would misread a newer file."""

VERSION_KEY = b"treecast.journal"
"""The key under which the version stands in the schema's metadata."""

QUIET_KEY = b"treecast.quiet"
"""Metadata: b"1" when nothing was left to happen, or the time to settle had passed; b"0" when it was cut."""

RELAYS_KEY = b"treecast.relays"
"""Metadata: who may carry a topic's events, b"subscribers" (who are or were) or b"anyone"."""

HEALED_KEY = b"treecast.healed_us"
"""Metadata: when the last fault had healed, in microseconds; not there when there was no fault.

That is the end of the last fault's window, the last recovery, or the crash of a node that
does not recover, whichever comes last.
"""


PROMISES_KEY = b"treecast.promises"
"""Metadata: the rules that the protocol means to keep of those that not all do, separated by commas.

Of "causal order", "completeness" (with agreement and progress after healing), "delivered was
received" (a message holds one event at most, and its rows name it) and "no parasites"; not
there: all but the last.
"""

HIERARCHY_KEY = b"treecast.hierarchy"
"""Metadata: of each topic of the run its direct super-topics, as a JSON object of lists.

Who subscribes to a topic then has a part in the events of all topics below it. Not there
where no topic includes another.
"""


class Kind(StrEnum):
    """What a row tells. Only append: the names are in files."""

    PUBLISH = "publish"  # the application published (source = node)
    SEND = "send"
    RECEIVE = "receive"  # a message was handed to the protocol, after queueing and processing
    DELIVER = "deliver"  # the protocol handed an event to the application
    SUBSCRIBE = "subscribe"  # the application asked for it
    JOINED = "joined"  # the protocol says that the subscription stands
    CRASH = "crash"  # the node stopped
    UNSUBSCRIBE = "unsubscribe"  # the application asked for it; nothing is delivered from here on
    RECOVER = "recover"  # the node started again, knowing nothing
    SUSPECT = "suspect"  # the protocol takes the peer for crashed
    TRUST = "trust"  # ... and for alive again
    REGISTER = "register"  # the application will publish without being subscribed
    UNREGISTER = "unregister"  # ... and no more
    HANGS = "hangs"  # the node's place in the topic's tree is below the peer; no peer: it is a root
    CUT_OFF = "cut_off"  # the node has no place in the topic's tree
    ACCEPTED = "accepted"  # what the application asked to publish is safe as (source, sequence)
    GIVEN_UP = "given_up"  # ... was given up; (source, sequence) is the number of the application's request


SCHEMA = pa.schema(
    [
        pa.field("run", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("time_us", pa.int64(), nullable=False),
        pa.field("node", pa.int64(), nullable=False),
        pa.field("kind", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("message", pa.dictionary(pa.int32(), pa.string())),
        pa.field("topic", pa.dictionary(pa.int32(), pa.string())),
        pa.field("source", pa.int64()),
        pa.field("sequence", pa.int64()),
        pa.field("peer", pa.int64()),
        pa.field("barrier_size", pa.int32()),
    ],
    metadata={VERSION_KEY: str(JOURNAL_VERSION).encode()},
)
