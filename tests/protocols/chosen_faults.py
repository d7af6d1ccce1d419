"""A chosen order of messages in which nodes crash, start again, and are told of one another.

What VCube tells is told by the test, node by node: to the pseudo-code of VCube-PB by a call,
to the machine by the message in which its detector would learn it. The clock stands still
until `settle`, which lets VCube do the rest: everybody is told of everything.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from chosen_order import ChosenOrder
from pb_pseudocode import PaperPB
from recording_host import Deed, PeerChanged, RecordingHost, TimerCancelled, TimerSet

from treecast.core import Host, Message, NodeId, TimerKey, Topic
from treecast.protocols.setup import Setup
from treecast.protocols.vcube.pb_messages import Answer, Bookmark, State, Test
from treecast.protocols.vcube.settings import VCubePBSettings, rounds_bound
from treecast.protocols.vcube.vcube_pb import VCubePB


def make(machine: type[PaperPB | VCubePB], host: Host, node: NodeId, setup: Setup) -> PaperPB | VCubePB:
    return machine(host, node, replace(setup, settings=VCubePBSettings()))


class ChosenFaults(ChosenOrder):
    """Some machines of VCube-PB, and what befalls them."""

    def __init__(
        self,
        machine: type[PaperPB | VCubePB],
        nodes: int,
        subscribers: Mapping[Topic, Iterable[NodeId]],
    ) -> None:
        self.machine = machine
        self.setup = Setup(range(nodes), {topic: tuple(sorted(each)) for topic, each in subscribers.items()})
        self.down: dict[NodeId, None] = {}
        self.clock_us = 0
        self.timers: dict[tuple[NodeId, TimerKey], int] = {}
        # What the pseudo-code has to be told of: crashes, and who is subscribed since the beginning.
        self.crashes: list[NodeId] = []
        self.standings: dict[tuple[NodeId, Topic], bool] = {}
        self.told: dict[tuple[NodeId, object], None] = {}
        super().__init__(lambda host, node, setup: make(machine, host, node, setup), nodes, subscribers)

    # -- what nodes do and what befalls them ----------------------------------------------

    def subscribe(self, node: NodeId, topic: Topic) -> None:
        super().subscribe(node, topic)
        self._stand(node, topic, subscribed=True)

    def unsubscribe(self, node: NodeId, topic: Topic) -> None:
        super().unsubscribe(node, topic)
        self._stand(node, topic, subscribed=False)

    def register(self, node: NodeId, topic: Topic) -> None:
        self.at(node).register(topic)
        self._collect(node)

    def crash(self, node: NodeId, *, losing: Sequence[NodeId] = ()) -> None:
        """`node` stops. What it has sent is under way, but for the messages to `losing`."""
        self.down[node] = None
        self.crashes.append(node)
        self.ahead = [each for each in self.ahead if each[0] != node or each[1] not in losing]
        self.timers = {timer: due for timer, due in self.timers.items() if timer[0] != node}

    def restart(self, node: NodeId) -> None:
        """It starts again, and knows nothing."""
        del self.down[node]
        self.hosts[node] = RecordingHost(node, self.hosts[node].life + 1)
        self.hosts[node].clock_us = self.clock_us
        self.machines[node] = make(self.machine, self.hosts[node], node, self.setup)
        self.machines[node].start()
        self._collect(node)

    def lose(self, sender: NodeId, to: NodeId, *, kind: str) -> None:
        """The network loses what is on its way from `sender` to `to`."""
        lost = [each for each in self.ahead if each[:2] == (sender, to) and each[2].kind == kind]
        assert lost, f"no {kind} is under way from node {sender} to node {to}: {self.ahead}"
        self.ahead = [each for each in self.ahead if each not in lost]

    # -- what VCube tells -----------------------------------------------------------------

    def tell_crash(self, node: NodeId, crashed: NodeId) -> None:
        """`node` learns, be it true or not, that `crashed` has crashed."""
        self.told[node, crashed] = None
        machine = self.at(node)
        if isinstance(machine, PaperPB):
            machine.notify_crash(crashed)
        else:
            teller = next(each for each in self._up() if each not in {node, crashed})
            said = State(crashed, self.hosts[crashed].life, 1)
            machine.receive(teller, Answer(self._state(teller), 0, (said,), ()))
        self._collect(node)

    def tell_standing(self, node: NodeId, of: NodeId, topic: Topic) -> None:
        """`node` learns whether `of` is subscribed."""
        subscribed = self.standings[of, topic]
        self.told[node, (of, topic, subscribed)] = None
        machine = self.at(node)
        if isinstance(machine, PaperPB):
            change = [(of, topic)]
            machine.notify_membership(join=change if subscribed else (), leave=() if subscribed else change)
            self._collect(node)
        else:
            test = Test(self._state(node), self._state(of), Bookmark(0, 0))
            self._arrive((node, of, test))
            self.arrive(of, node, kind="ANSWER")

    def settle(self, *, hold: Sequence[tuple[NodeId, NodeId, str]] = ()) -> None:
        """Everybody learns of everything, and every message arrives but those held."""
        self.run(hold=hold)
        if self.machine is PaperPB:
            self._tell_all()
            self.run(hold=hold)
            return
        rounds = 4 * rounds_bound(len(self.setup.nodes))
        end_us = self.clock_us + rounds * round(VCubePBSettings().test_every_ms * 1000)
        while True:
            (node, key), due_us = min(self.timers.items(), key=lambda timer: (timer[1], timer[0][0]))
            if due_us > end_us:
                return
            self._move_clock(due_us)
            del self.timers[node, key]
            self.at(node).timer(key)
            self._collect(node)
            self.run(hold=hold)

    # -- the network ----------------------------------------------------------------------

    def at(self, node: NodeId) -> PaperPB | VCubePB:
        assert node not in self.down, f"node {node} has crashed"
        machine = self.machines[node]
        assert isinstance(machine, PaperPB | VCubePB)
        return machine

    def _up(self) -> list[NodeId]:
        return [node for node in self.setup.nodes if node not in self.down]

    def _state(self, node: NodeId) -> State:
        return State(node, self.hosts[node].life, 0)

    def _stand(self, node: NodeId, topic: Topic, *, subscribed: bool) -> None:
        self.standings.pop((node, topic), None)
        self.standings[node, topic] = subscribed

    def _tell_all(self) -> None:
        for node in self._up():
            for crashed in self.crashes:
                if crashed != node and (node, crashed) not in self.told:
                    self.tell_crash(node, crashed)
            for (of, topic), subscribed in self.standings.items():
                if of != node and (node, (of, topic, subscribed)) not in self.told:
                    self.tell_standing(node, of, topic)

    def _move_clock(self, to_us: int) -> None:
        self.clock_us = to_us
        for host in self.hosts:
            host.clock_us = to_us

    def _arrive(self, arrival: tuple[NodeId, NodeId, Message]) -> None:
        if arrival[1] in self.down:
            self.ahead = [each for each in self.ahead if each is not arrival]
        else:
            super()._arrive(arrival)

    def _collect(self, node: NodeId) -> None:
        rest: list[Deed] = []
        for deed in self.hosts[node].take():
            match deed:
                case TimerSet(key, after_us):
                    self.timers[node, key] = self.clock_us + after_us
                case TimerCancelled(key):
                    self.timers.pop((node, key), None)
                case PeerChanged():
                    pass
                case _:
                    rest.append(deed)
        self.hosts[node].deeds = rest
        super()._collect(node)
