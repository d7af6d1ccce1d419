"""CAMCAST: events go through their topic's community by gossip, and up to those of its super-topics.

Section 3 of the paper; its functions are mapped in docs/protocols/camcast.md. A process
participates in the community of each topic that it subscribes to or publishes on, and in no
other. In each it keeps a topic table, some others of the community, and for each parent of
the topic a super-topic table, some processes of the community above. Who receives an event
for the first time gossips it in that community; with probability p_sel he also passes it
up. Nothing ever goes down: whoever is above has a part in all that happens below.

Invariants:
- an event is sent only to processes that this one believes to be of its topic's community or
  of one above, and a process that is not, since it has left, neither delivers nor stores nor
  forwards it;
- in each community a process forwards an event once, and delivers it at most once in all;
- its tables hold fan_out + z entries for each topic it has a part in, however many topics
  there are above and below.
"""

from collections.abc import Sequence

from treecast.core import (
    AlreadySubscribedError,
    EventId,
    Host,
    NodeId,
    NotSubscribedError,
    PeerError,
    TimerKey,
    Topic,
    UsageError,
)
from treecast.protocols.camcast.community import Community
from treecast.protocols.camcast.groups import GroupMachine
from treecast.protocols.camcast.linking import Linking
from treecast.protocols.camcast.membership import Membership, Timer, drawn
from treecast.protocols.camcast.messages import (
    AnsContact,
    Digest,
    Gone,
    GroupMessage,
    Links,
    Pub,
    Repair,
    Want,
)
from treecast.protocols.camcast.repair import Repairer
from treecast.protocols.camcast.search import SearchKey
from treecast.protocols.camcast.settings import CamcastSettings
from treecast.protocols.camcast.super_table import SuperTopicTable, populated
from treecast.protocols.setup import Setup
from treecast.protocols.vcube.view import is_member
from treecast.structures.event_log import EventLog, Past


class Camcast(GroupMachine):
    """One process of CAMCAST."""

    def __init__(self, host: Host, node: NodeId, setup: Setup) -> None:
        settings = setup.settings
        assert isinstance(settings, CamcastSettings), "the registry names the class of settings"
        super().__init__(host, node, setup, settings)
        self._camcast = settings
        self._communities: dict[Topic, Community] = {}
        self._past = Past(settings.keep_events)
        self._linking = Linking(host, settings, self._searches)
        self._repairer = Repairer(host, settings)

    @property
    def communities(self) -> tuple[Community, ...]:
        """Those that this process participates in."""
        return tuple(self._communities.values())

    # -- the application's side -----------------------------------------------------------

    def start(self) -> None:
        if self._host.life:
            return  # who comes back knows nobody, and is subscribed to nothing
        for topic, members in self._setup.subscribers.items():
            if is_member(self._node, members):
                community = self._participate(topic)
                community.subscribed = True
                community.membership.begin(members)
                for table in community.tables:
                    self._begin_table(table)
                self._become_joined(topic)

    def _begin_table(self, table: SuperTopicTable) -> None:
        """Fill it as at rest: from the nearest topic above that has any subscribers."""
        members = self._setup.subscribers
        nearest = populated(table.generations, members)
        if nearest is not None:
            some = drawn(members[nearest], self._node, self._camcast.z, self._host.random)
            table.merge(nearest, some, self._host.now())

    def subscribe(self, topic: Topic) -> None:
        community = self._communities.get(topic)
        if community is not None and community.subscribed:
            raise AlreadySubscribedError(
                f"node {self._node} is subscribed to {topic!r} already; unsubscribe first"
            )
        community = self._enter(topic, "subscribe to")
        community.subscribed = True
        if community.joined:  # as a publisher
            self._host.joined(topic)

    def unsubscribe(self, topic: Topic) -> None:
        community = self._communities.get(topic)
        if community is None or not community.subscribed:
            raise NotSubscribedError(
                f"node {self._node} cannot unsubscribe from {topic!r}: it is not subscribed; subscribe first"
            )
        community.subscribed = False
        self._leave_if_done(community)

    def register(self, topic: Topic) -> None:
        community = self._communities.get(topic)
        if community is not None and community.registered:
            raise UsageError(f"node {self._node} is registered on {topic!r} already; unregister first")
        self._enter(topic, "register on").registered = True

    def unregister(self, topic: Topic) -> None:
        community = self._communities.get(topic)
        if community is None or not community.registered:
            raise UsageError(f"node {self._node} is not registered on {topic!r}; register first")
        community.registered = False
        self._leave_if_done(community)

    def publish(self, topic: Topic, payload: bytes, *, upward: float | None = None) -> EventId:
        """`upward`: with this probability, not p_sel, each process passes this event up; 1 for all."""
        community = self._communities.get(topic)
        if community is None:
            raise NotSubscribedError(
                f"node {self._node} cannot publish to {topic!r}: it has no part in that community; "
                "subscribe or register first"
            )
        if upward is not None and not 0 <= upward <= 1:
            raise UsageError(f"upward = {upward} is no probability; give a number from 0 to 1, or None")
        event = self._new_event(topic, payload)
        self._take(community, Pub(event, topic, upward), self._host.now())
        return event.id

    # -- participating --------------------------------------------------------------------

    def _enter(self, topic: Topic, purpose: str) -> Community:
        """The community of a topic, which this process joins if it has no part in it yet."""
        community = self._communities.get(topic)
        if community is not None:
            return community
        self._refuse_static(purpose, topic)
        community = self._participate(topic)
        self._contacts.announce(topic, present=True)
        community.membership.join()
        self._linking.look_after(community)
        return community

    def _participate(self, topic: Topic) -> Community:
        settings, now_us = self._camcast, self._host.now()
        tables = tuple(
            SuperTopicTable(self._node, ((parent,), *self._hierarchy.generations(parent)), parent, settings.z)
            for parent in self._hierarchy.parents(topic)
        )
        log = EventLog(settings.keep_events)
        community = Community(topic, self._membership(topic), tables, log, now_us)
        self._communities[topic] = community
        if not self._static and tables:
            self._linking.begin(community)
        self._begin_announcing(topic)
        if settings.repairs:
            self._set_timer(topic, "repair", self._host.random.random() * settings.repair_ms)
        return community

    def _leave_if_done(self, community: Community) -> None:
        """Leave a community of which the process is neither a subscriber nor a publisher any more."""
        if community.subscribed or community.registered:
            return
        topic = community.topic
        self._leave_group(community.membership)
        self._linking.end(community)
        self._host.cancel_timer(Timer(topic, "repair"))
        self._past.take(community.log)
        del self._communities[topic]

    def _become_joined(self, topic: Topic) -> None:
        community = self._communities[topic]
        if not community.joined:
            community.joined = True
            if community.subscribed:
                self._host.joined(topic)

    # -- what the membership turns to -----------------------------------------------------

    def _group(self, topic: Topic) -> Membership | None:
        community = self._communities.get(topic)
        return None if community is None else community.membership

    def _links_of(self, topic: Topic) -> tuple[Links, ...]:
        community = self._communities.get(topic)
        return () if community is None else community.links()

    def _merge_links(self, topic: Topic, found: Sequence[Links]) -> None:
        community = self._communities.get(topic)
        if community is not None:
            for links in found:
                self._linking.merge(community, links.parent, links.of, links.members)

    def _known(self, topic: Topic) -> tuple[NodeId, ...]:
        """Psi, of a community of this process, or of one that a super-topic table of it is for."""
        community = self._communities.get(topic)
        if community is None or community.joined:
            known = super()._known(topic)
            if known:
                return known
        for other in self._communities.values():
            for table in other.tables:
                if table.of == topic and table.view:
                    return table.view.members
        return ()

    def _found(self, key: SearchKey, answer: AnsContact) -> None:
        community = self._communities.get(key.topic)
        if community is not None and key.parent is not None:
            self._linking.merge(community, key.parent, answer.of, answer.members)
        else:
            super()._found(key, answer)

    # -- dissemination: section 3.5 -------------------------------------------------------

    def _take(self, community: Community, pub: Pub, born_us: int, *, spread: bool = True) -> None:
        """RECEIVE, of an event that this process may have seen in this community (figure 7)."""
        event = pub.event
        logs = [each.log for each in self._communities.values()]
        is_new = event.id not in self._past and not any(event.id in log for log in logs)
        if not community.log.add(event, born_us, pub.upward):
            return
        if spread:
            self._disseminate(community, pub)
        if is_new and self._is_subscriber(event.topic, born_us):
            self._host.deliver(event)
        for above in self._communities.values():  # this process is a link itself, at no cost
            if above is not community and self._hierarchy.covers(above.topic, event.topic):
                self._take(above, Pub(event, above.topic, pub.upward), born_us)

    def _disseminate(self, community: Community, pub: Pub) -> None:
        event, upward, random, send = pub.event, pub.upward, self._host.random, self._host.send
        for node, of in community.upward(random, self._camcast, upward):
            send(node, Pub(event, of, upward))
        onward = pub if type(pub) is Pub else Pub(event, pub.community, upward)
        for node in community.targets(random):
            send(node, onward)

    def _is_subscriber(self, topic: Topic, born_us: int) -> bool:
        """Whether the application expects the events of a topic that were published then."""
        return any(
            each.subscribed and each.since_us <= born_us and self._hierarchy.covers(each.topic, topic)
            for each in self._communities.values()
        )

    # -- everybody's side -----------------------------------------------------------------

    def _on_pub(self, sender: NodeId, pub: Pub) -> None:
        community = self._communities.get(pub.community)
        if community is None:
            self._host.send(sender, Gone(pub.community))
            return
        if not self._hierarchy.covers(community.topic, pub.event.topic):
            raise PeerError(
                f"node {sender} sent an event of {pub.event.topic!r} to the community of {pub.community!r}, "
                "which does not include it"
            )
        now_us = self._host.now()
        if isinstance(pub, Repair):
            born_us = now_us - pub.age_us
            if born_us >= community.since_us:
                self._take(community, pub, born_us, spread=pub.spread)
            elif pub.spread:  # only to be offered to those above, who may have been there before
                self._take(community, pub, born_us, spread=False)
        else:
            self._take(community, pub, now_us)

    def _on_group_message(self, sender: NodeId, message: GroupMessage) -> bool:
        community = self._communities.get(message.topic)
        if isinstance(message, Want):
            source = self._communities.get(message.source)
            if source is not None:
                self._repairer.grant(sender, message, source)
        elif isinstance(message, Digest) and community is not None:
            self._repairer.answer(sender, message, community)
        else:
            return self._linking.receive(sender, message, community, self._communities, self._known)
        return True

    def _on_gone(self, node: NodeId, topic: Topic) -> None:
        """`node` has no part in `topic`: no table goes on naming it there."""
        if self._static:
            return
        super()._on_gone(node, topic)
        for community in self._communities.values():
            self._linking.gone(community, node, topic)

    def timer(self, key: TimerKey) -> None:
        assert isinstance(key, Timer), "every timer of CAMCAST is a Timer"
        community = self._communities.get(key.topic)
        if community is None:
            return
        if key.what == "repair":
            self._repairer.compare(community)
            self._set_timer(key.topic, "repair", self._camcast.repair_ms)
        elif not self._linking.timer(key, community):
            super().timer(key)
