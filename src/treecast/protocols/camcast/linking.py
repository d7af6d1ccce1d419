"""Keeping communities in touch: super-topic tables are filled, checked and refreshed (section 3.4).

Every `link_ms` a process looks at its tables. An empty one starts FIND_SUPER_CONTACT; of
others, with probability p_sel, the entries are asked whether they are alive and still of
that community. Those who do not answer go; with tau or fewer left, these are asked for
others (NEW_PROCESS). What is found spreads in the community with its membership's
heartbeats, so that not every process has to look itself.

Invariant: a table is looked for above the parent only as long as nobody of the parent is
known, and the parent is looked for again as long as the entries are of a topic above it.
"""

from collections.abc import Callable, Mapping, Sequence

from treecast.core import Host, NodeId, Topic
from treecast.protocols.camcast.community import Community
from treecast.protocols.camcast.membership import Timer
from treecast.protocols.camcast.messages import Alive, AnsContact, Check, Gone, GroupMessage, NewProcess
from treecast.protocols.camcast.search import Searches, SearchKey
from treecast.protocols.camcast.settings import CamcastSettings
from treecast.protocols.camcast.super_table import SuperTopicTable


class Linking:
    """Looks after all super-topic tables of one process."""

    def __init__(self, host: Host, settings: CamcastSettings, searches: Searches) -> None:
        self._host = host
        self._settings = settings
        self._searches = searches

    def begin(self, community: Community) -> None:
        self._set_timer(Timer(community.topic, "link"), self._host.random.random() * self._settings.link_ms)

    def end(self, community: Community) -> None:
        self._host.cancel_timer(Timer(community.topic, "link"))
        for table in community.tables:
            self._host.cancel_timer(Timer(community.topic, "check", table.parent))

    def look_after(self, community: Community) -> None:
        """KEEP_TABLE_UPDATED."""
        for table in community.tables:
            if not table.view:
                self._find(community, table)
            elif self._host.random.random() < community.psel(self._settings):
                self._check(community, table)
                if not table.is_direct:
                    self._find(community, table)

    def _find(self, community: Community, table: SuperTopicTable) -> None:
        self._searches.start(SearchKey(community.topic, table.parent), table.closer)

    def _check(self, community: Community, table: SuperTopicTable) -> None:
        """CHECK: ask each entry; who has not answered when the timer runs out is not alive."""
        assert table.of is not None, "a table with entries knows whose they are"
        table.asked = dict.fromkeys(table.view, False)
        for node in table.asked:
            self._host.send(node, Check(table.of, community.topic, table.parent))
        self._set_timer(Timer(community.topic, "check", table.parent), self._settings.search_ms)

    def _end_check(self, community: Community, table: SuperTopicTable) -> None:
        asked, table.asked = table.asked, {}
        dead = [node for node, answered in asked.items() if not answered]
        self._drop(table, dead)
        if not table.view:
            self._find(community, table)
        elif len(table.view) <= self._settings.tau and table.of is not None:
            for node in table.view:
                self._host.send(node, NewProcess(table.of, community.topic, table.parent))

    def _drop(self, table: SuperTopicTable, nodes: Sequence[NodeId]) -> None:
        table.failed(nodes, self._host.now(), round(self._settings.lease_ms * 1000))

    def gone(self, community: Community, node: NodeId, topic: Topic) -> None:
        """`node` says that it is not of the community of `topic`."""
        for table in community.tables:
            if table.of == topic:
                self._drop(table, [node])
                if not table.view:
                    self._find(community, table)

    def merge(self, community: Community, parent: Topic, of: Topic, members: Sequence[NodeId]) -> None:
        """Take in processes of `of` for the table of `parent`."""
        table = community.table(parent)
        if table is not None:
            table.merge(of, members, self._host.now())

    def receive(
        self,
        sender: NodeId,
        message: GroupMessage,
        community: Community | None,
        communities: Mapping[Topic, Community],
        known: Callable[[Topic], tuple[NodeId, ...]],
    ) -> bool:
        """Handle a question of a process below, or the answer to one; False when it is neither."""
        match message:
            case Check() | NewProcess() if community is None:
                self._host.send(sender, Gone(message.topic))
            case Check():
                self._host.send(sender, Alive(message.topic, message.community, message.parent))
            case NewProcess():
                fresh = tuple(node for node in known(message.topic) if node != sender)
                answer = AnsContact(message.community, message.parent, message.topic, fresh)
                self._host.send(sender, answer)
            case Alive():
                below = communities.get(message.community)
                table = None if below is None else below.table(message.parent)
                if table is not None and sender in table.asked:
                    table.asked[sender] = True
            case _:
                return False
        return True

    def timer(self, key: Timer, community: Community) -> bool:
        if key.what == "link":
            self.look_after(community)
            self._set_timer(key, self._settings.link_ms)
            return True
        table = community.table(key.parent)
        if key.what == "check" and table is not None:
            self._end_check(community, table)
            return True
        return False

    def _set_timer(self, key: Timer, after_ms: float) -> None:
        self._host.set_timer(key, round(after_ms * 1000))
