"""What all gossip systems share: a process in groups, each with a membership of its own.

CAMCAST's groups are its communities; the systems it is compared with have others, on the
same memberships, as the paper demands for fairness (section 4).

Invariant: what a message is about decides which group's membership handles it; who is in no
such group says so to the sender.
"""

from abc import abstractmethod
from collections.abc import Sequence

from treecast.core import (
    Event,
    EventId,
    Host,
    Machine,
    Message,
    NodeId,
    PeerError,
    TimerKey,
    Topic,
    UsageError,
    first_sequence,
)
from treecast.protocols.camcast.lookup import Directory, LookupContacts
from treecast.protocols.camcast.membership import Membership, StaticTables, Surroundings, Timer
from treecast.protocols.camcast.messages import AnsContact, Gone, GroupMessage, Links, Pub
from treecast.protocols.camcast.neighbourhood import Neighbourhood
from treecast.protocols.camcast.scamp import Scamp
from treecast.protocols.camcast.search import Contacts, Searches, SearchKey
from treecast.protocols.camcast.settings import MembershipSettings
from treecast.protocols.camcast.structured import Structured
from treecast.protocols.setup import Setup

CONTACTS = 3
"""How many processes an answer names to who looks for a group."""


class GroupMachine(Machine):
    """One process in some groups; `setup.subscribers` says who is in each from the start."""

    def __init__(self, host: Host, node: NodeId, setup: Setup, settings: MembershipSettings) -> None:
        self._host = host
        self._node = node
        self._setup = setup
        self._settings = settings
        self._hierarchy = setup.hierarchy
        self._static = settings.membership == "static"
        self._counter = first_sequence(host.life)
        self._directory = Directory(host, node, setup)
        self._contacts: Contacts = (
            Neighbourhood(host, node, setup, self._known)
            if settings.membership == "unstructured"
            else LookupContacts(self._directory, CONTACTS)
        )
        self._searches = Searches(host, self._contacts, settings.search_ms, self._found, self._exhausted)
        self._around = Surroundings(
            host, node, settings, self._become_joined, self._search_group, self._links_of, self._merge_links
        )

    # -- what a system adds ---------------------------------------------------------------

    @abstractmethod
    def _group(self, topic: Topic) -> Membership | None:
        """This process's membership in a group; None when it has none."""

    @abstractmethod
    def _become_joined(self, topic: Topic) -> None:
        """The process stands in the group."""

    @abstractmethod
    def _on_pub(self, sender: NodeId, pub: Pub) -> None:
        """An event has come."""

    def _on_group_message(self, sender: NodeId, message: GroupMessage) -> bool:
        """Handle a message that only this system knows; False when it is none."""
        return False

    def _links_of(self, topic: Topic) -> tuple[Links, ...]:
        return ()

    def _merge_links(self, topic: Topic, found: Sequence[Links]) -> None:
        """What others of the group tell of its super-groups, where there are any."""

    # -- groups ---------------------------------------------------------------------------

    def _membership(self, topic: Topic) -> Membership:
        match self._settings.membership:
            case "static":
                return StaticTables(self._around, topic)
            case "structured":
                return Structured(self._around, topic, self._directory)
            case _:
                return Scamp(self._around, topic)

    def _begin_announcing(self, topic: Topic) -> None:
        if self._settings.membership in {"semi-structured", "structured"}:
            self._set_timer(topic, "announce", self._host.random.random() * self._settings.refresh_ms)

    def _leave_group(self, membership: Membership) -> None:
        topic = membership.topic
        membership.leave()
        self._contacts.announce(topic, present=False)
        self._searches.stop(topic)
        self._host.cancel_timer(Timer(topic, "announce"))

    def _refuse_static(self, purpose: str, topic: Topic) -> None:
        if self._static:
            raise UsageError(
                f"node {self._node} cannot {purpose} {topic!r}: static tables never change; "
                'let it be a subscriber from the start, or take membership = "unstructured"'
            )

    def _new_event(self, topic: Topic, payload: bytes) -> Event:
        event = Event(EventId(self._node, self._counter), topic, frozenset(), payload)
        self._counter += 1
        self._host.published(event)
        return event

    # -- looking for others ---------------------------------------------------------------

    def _search_group(self, topic: Topic) -> None:
        self._searches.start(SearchKey(topic, None), ((topic,),))

    def _known(self, topic: Topic) -> tuple[NodeId, ...]:
        """Psi: some processes of a group, this one first if it is among them."""
        group = self._group(topic)
        return () if group is None else (self._node, *group.view.sample(self._host.random, CONTACTS - 1))

    def _found(self, key: SearchKey, answer: AnsContact) -> None:
        group = self._group(key.topic)
        if group is not None:
            group.found(answer.members, answer.size)

    def _exhausted(self, key: SearchKey) -> None:
        group = self._group(key.topic)
        if group is not None and key.parent is None:
            group.found((), None)

    # -- everybody's side -----------------------------------------------------------------

    def receive(self, sender: NodeId, message: Message) -> None:
        if isinstance(message, Pub):
            self._on_pub(sender, message)
        elif isinstance(message, AnsContact):
            self._on_ans_contact(message)
        elif not isinstance(message, GroupMessage):
            raise PeerError(f"node {sender} sent a {message.kind}, which {type(self).__name__} does not know")
        elif isinstance(message, Gone):
            self._on_gone(sender, message.topic)
        elif self._contacts.receive(sender, message) or self._directory.receive(sender, message):
            return
        elif not self._on_group_message(sender, message):
            group = self._group(message.topic)
            if group is None:
                self._host.send(sender, Gone(message.topic))
            elif not group.receive(sender, message):
                raise PeerError(f"node {sender} sent a {message.kind}, which is out of place here")

    def _on_ans_contact(self, answer: AnsContact) -> None:
        group = self._group(answer.topic)
        if group is None:
            return
        if answer.parent is None and not answer.members and self._settings.membership == "structured":
            group.found((), answer.size)
        self._searches.answered(answer)

    def _on_gone(self, node: NodeId, topic: Topic) -> None:
        """`node` is not in this group."""
        group = self._group(topic)
        if group is not None:
            group.gone(node)

    def timer(self, key: TimerKey) -> None:
        assert isinstance(key, Timer), "every timer of a gossip system is a Timer"
        group = self._group(key.topic)
        if group is None:
            return
        if key.what == "search":
            self._searches.timer(SearchKey(key.topic, key.parent))
        elif key.what == "announce":
            self._contacts.announce(key.topic, present=True)
            self._set_timer(key.topic, "announce", self._settings.refresh_ms)
        else:
            group.timer(key.what)

    def _set_timer(self, topic: Topic, what: str, after_ms: float) -> None:
        self._host.set_timer(Timer(topic, what), round(after_ms * 1000))
