"""VCube: who is alive, and who stands where, by tests along the hypercube (VCube-PB 2017, section 5).

Each round a node tests, in every one of its clusters, the nodes in the order c(i, s) up to
the first that is fault-free. Whoever answers tells what it has learned since the tester
last asked: states of nodes, and (VCube-Top) what nodes are on topics. So a change is
known to all within log2(N)^2 rounds, and when nothing changes, answers are empty.

The paper has permanent crashes and perfect detection; here a node may come back, and may
be suspected while it is only slow. Who finds itself suspected says so with a higher
counter. Nodes that restart have a higher life, and what an earlier life stood for is void.

Invariants: of two states of a node, and of two standings of a node on a topic, the newer
replaces the older whatever the order they come in; the counter of a node's own state is
even; every node that is alive and suspected is tested each round by somebody, or tests
somebody alive itself, so that no suspicion stays for ever once messages get through.
"""

from collections.abc import Collection, Sequence
from typing import Protocol, TypeVar

from treecast.core import ID_BITS, Host, NodeId, TimerKey, Topic
from treecast.protocols.vcube.pb_messages import Answer, Bookmark, Standing, State, Test
from treecast.protocols.vcube.settings import VCubePBSettings
from treecast.protocols.vcube.view import Members
from treecast.structures.hypercube import cluster

_ROUND: TimerKey = "round"
_TIMEOUT: TimerKey = "timeout"

_Key = TypeVar("_Key")


class Listener(Protocol):
    """Who wants to know what the detector finds out."""

    def on_round(self) -> None:
        """A round begins."""

    def on_lost(self, node: NodeId, life: int) -> None:
        """`node` is taken for crashed, or has restarted: that life of it seems to be over."""

    def on_found(self, node: NodeId) -> None:
        """`node`, new or taken for crashed before, is alive."""

    def on_standing(self, standing: Standing) -> None:
        """A node of the life that is known has told what it is on a topic."""


class Detector:
    """One node's part in VCube."""

    def __init__(
        self, host: Host, node: NodeId, nodes: Sequence[NodeId], settings: VCubePBSettings, listener: Listener
    ) -> None:
        self._host = host
        self._node = node
        self._listener = listener
        self._every_us = round(settings.test_every_ms * 1000)
        self._timeout_us = round(settings.timeout_ms * 1000)
        self._own = State(node, host.life, 0)
        self._live = Members(node, tuple(nodes))
        self._states: dict[NodeId, State] = {}  # all others are as at the beginning
        self._suspects: dict[NodeId, None] = {}
        self._standings: dict[tuple[Topic, NodeId], Standing] = {}
        self._version = 0
        # What changed at which version, oldest first: what an answer tells is the end of it.
        self._news: dict[NodeId | tuple[Topic, NodeId], int] = {}
        self._bookmarks: dict[NodeId, Bookmark] = {}
        self._tested: set[NodeId] = set()  # in this round
        self._unanswered: dict[NodeId, None] = {}
        self.answers = 0

    def start(self) -> None:
        """Begin, at a time of the round of this node's own: not all nodes test at once."""
        self._host.set_timer(_ROUND, self._host.random.randrange(self._every_us) + 1)

    @property
    def suspects(self) -> Collection[NodeId]:
        return self._suspects.keys()

    def is_suspected(self, node: NodeId) -> bool:
        return node in self._suspects

    def is_alone(self) -> bool:
        """Whether nobody else is left to learn from."""
        return not self._live.children(ID_BITS)

    def standing(self, node: NodeId, topic: Topic) -> Standing | None:
        """What `node` has last said of itself; None when it has said nothing in its present life."""
        return self._standings.get((topic, node))

    def life_of(self, node: NodeId) -> int:
        return self._state(node).life

    def declare(self, topic: Topic, *, subscriber: bool, publisher: bool) -> None:
        """Say what this node is on a topic; it travels with the answers from now on."""
        old = self._standings.get((topic, self._node))
        counter = old.counter + 1 if old else 0
        standing = Standing(self._node, self._own.life, counter, topic, subscriber, publisher)
        self._standings[topic, self._node] = standing
        self._note((topic, self._node))

    # -- rounds -----------------------------------------------------------------------

    def timer(self, key: TimerKey) -> bool:
        """Whether `key` was a timer of the detector's."""
        if key == _ROUND:
            self._begin_round()
        elif key == _TIMEOUT:
            self._end_tests()
        else:
            return False
        return True

    def _begin_round(self) -> None:
        self._tested.clear()
        self._unanswered.clear()
        self._test_onwards()
        self._host.set_timer(_ROUND, self._every_us)
        self._listener.on_round()

    def _test_onwards(self) -> None:
        """Test up to the first fault-free node of each cluster, but for those tested in this round."""
        tested = False
        for node in self._to_test():
            if node not in self._tested:
                self._tested.add(node)
                self._unanswered[node] = None
                since = self._bookmarks.get(node, Bookmark(0, 0))
                self._host.send(node, Test(self._own, self._state(node), since))
                tested = True
        if tested:
            self._host.set_timer(_TIMEOUT, self._timeout_us)

    def _to_test(self) -> list[NodeId]:
        first = self._live.children(ID_BITS)
        if not self._suspects:
            return list(first)
        distances = {cluster(self._node, node): node ^ self._neighbour(node) for node in first}
        before = [
            suspect
            for suspect in self._suspects
            if (distance := distances.get(cluster(self._node, suspect))) is None
            or suspect ^ self._neighbour(suspect) < distance
        ]
        return [*first, *before]

    def _neighbour(self, other: NodeId) -> NodeId:
        """This node's neighbour in the cluster of `other`: c(i, s) is ordered by the distance from it."""
        return self._node ^ (1 << (cluster(self._node, other) - 1))

    def _end_tests(self) -> None:
        """Suspect who has not answered, and test the next ones of their clusters."""
        silent = [node for node in self._unanswered if node not in self._suspects]
        for node in silent:
            state = self._state(node)
            self._learn_state(State(node, state.life, state.counter + 1))
        if silent:
            self._test_onwards()

    def _state(self, node: NodeId) -> State:
        return self._states.get(node) or State(node, 0, 0)

    # -- tests and answers ------------------------------------------------------------

    def on_test(self, sender: NodeId, test: Test) -> None:
        self._learn_state(test.state)
        self._answer_suspicion(test.yours)
        since = test.since.version if test.since.life == self._own.life else 0
        states, standings = self._news_since(since)
        self._host.send(sender, Answer(self._own, self._version, states, standings, since))

    def on_answer(self, sender: NodeId, answer: Answer) -> None:
        self.answers += 1
        self._unanswered.pop(sender, None)
        self._learn_state(answer.state)
        for state in answer.states:
            self._learn_state(state)
        for standing in answer.standings:
            self._learn_standing(standing)
        self._move_bookmark(sender, answer)

    def _move_bookmark(self, sender: NodeId, answer: Answer) -> None:
        """Note how far the sender's news has been taken over, if there is no gap before what it told now."""
        old, life = self._bookmarks.get(sender, Bookmark(0, 0)), answer.state.life
        read = old.version if old.life == life else 0
        if life >= old.life and answer.since <= read < answer.version:
            self._bookmarks[sender] = Bookmark(life, answer.version)

    def _news_since(self, version: int) -> tuple[tuple[State, ...], tuple[Standing, ...]]:
        states: list[State] = []
        standings: list[Standing] = []
        for key in reversed(self._news):
            if self._news[key] <= version:
                break
            if isinstance(key, tuple):
                standings.append(self._standings[key])
            else:
                states.append(self._states[key])
        return tuple(states), tuple(standings)

    def _note(self, key: NodeId | tuple[Topic, NodeId]) -> None:
        self._version += 1
        self._news.pop(key, None)
        self._news[key] = self._version

    # -- what is known ----------------------------------------------------------------

    def _learn_state(self, new: State) -> None:
        if new.node == self._node:
            self._answer_suspicion(new)
            return
        old = self._state(new.node)
        is_new = new.node not in self._states and new.node not in self._live
        if new.rank <= old.rank and not is_new:
            return
        self._states[new.node] = new
        self._note(new.node)
        if new.node not in self._suspects and (not new.alive or new.life > old.life):
            self._suspect(new.node, old.life)
        if new.life > old.life:
            self._forget_standings(new.node)
        if new.alive and (is_new or new.node in self._suspects):
            self._trust(new.node)

    def _suspect(self, node: NodeId, life: int) -> None:
        self._suspects[node] = None
        self._live.set(node, False)
        self._host.peer_changed(node, alive=False)
        self._listener.on_lost(node, life)

    def _trust(self, node: NodeId) -> None:
        self._suspects.pop(node, None)
        self._live.set(node, True)
        self._host.peer_changed(node, alive=True)
        self._listener.on_found(node)

    def _answer_suspicion(self, said: State) -> None:
        """Somebody holds that about this node; if he takes it for crashed, contradict."""
        if not said.alive and said.rank > self._own.rank:
            self._own = State(self._node, self._own.life, said.counter + 1)

    def _forget_standings(self, node: NodeId) -> None:
        """They were of a life that is over."""
        for key in [key for key in self._standings if key[1] == node]:
            if self._standings[key].life < self._state(node).life:
                del self._standings[key]
                self._news.pop(key, None)

    def _learn_standing(self, new: Standing) -> None:
        if new.node == self._node:
            return
        if new.life > self.life_of(new.node):
            self._learn_state(State(new.node, new.life, 0))
        elif new.life < self.life_of(new.node):
            return
        key = (new.topic, new.node)
        old = self._standings.get(key)
        if old is None or new.rank > old.rank:
            self._standings[key] = new
            self._note(key)
            self._listener.on_standing(new)
