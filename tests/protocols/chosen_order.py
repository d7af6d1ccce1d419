"""A network of machines in which the test says which message arrives next.

Links keep no order of their own: what is not named waits, for as long as the test likes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeAlias

from recording_host import Delivered, Joined, RecordingHost, Sent

from treecast.core import Event, EventId, Host, Message, NodeId, Topic
from treecast.protocols.setup import NoSettings, Setup

NO_SETTINGS = NoSettings()


class Machine(Protocol):
    """What is common to the machine under test and the published pseudo-code."""

    def start(self) -> None: ...
    def subscribe(self, topic: Topic) -> None: ...
    def unsubscribe(self, topic: Topic) -> None: ...
    def publish(self, topic: Topic, payload: bytes) -> EventId: ...
    def receive(self, sender: NodeId, message: Message) -> None: ...


MachineFactory: TypeAlias = Callable[[Host, NodeId, Setup], Machine]


class ChosenOrder:
    """Some machines and the messages under way between them, oldest first."""

    def __init__(
        self,
        machine: MachineFactory,
        nodes: int,
        subscribers: Mapping[Topic, Iterable[NodeId]],
        settings: object = NO_SETTINGS,
    ) -> None:
        standing = {topic: tuple(sorted(each)) for topic, each in subscribers.items()}
        setup = Setup(range(nodes), standing, settings)
        self.hosts = [RecordingHost(node) for node in range(nodes)]
        self.machines = [machine(self.hosts[node], node, setup) for node in range(nodes)]
        self.ahead: list[tuple[NodeId, NodeId, Message]] = []
        self.delivered: list[list[Event]] = [[] for _ in range(nodes)]
        self.joined: list[list[Topic]] = [[] for _ in range(nodes)]
        self.sent: list[tuple[NodeId, NodeId, Message]] = []
        for node in range(nodes):
            self.machines[node].start()
            self._collect(node)

    def subscribe(self, node: NodeId, topic: Topic) -> None:
        self.machines[node].subscribe(topic)
        self._collect(node)

    def unsubscribe(self, node: NodeId, topic: Topic) -> None:
        self.machines[node].unsubscribe(topic)
        self._collect(node)

    def publish(self, node: NodeId, topic: Topic, payload: bytes) -> None:
        self.machines[node].publish(topic, payload)
        self._collect(node)

    def arrive(self, sender: NodeId, to: NodeId, *, kind: str) -> None:
        """Let the oldest message of that kind on that link arrive."""
        on_this_link = [each for each in self.ahead if each[:2] == (sender, to) and each[2].kind == kind]
        assert on_this_link, f"no {kind} is under way from node {sender} to node {to}: {self.ahead}"
        self._arrive(on_this_link[0])

    def arrive_at(self, position: int) -> None:
        self._arrive(self.ahead[position])

    def run(self, *, hold: Sequence[tuple[NodeId, NodeId, str]] = ()) -> None:
        """Let everything arrive, and what follows from it, but the kinds held on some links."""
        while free := [each for each in self.ahead if (each[0], each[1], each[2].kind) not in hold]:
            self._arrive(free[0])

    def payloads(self, node: NodeId) -> list[bytes]:
        """What the application of that node has been given, in order."""
        return [event.payload for event in self.delivered[node]]

    def _arrive(self, arrival: tuple[NodeId, NodeId, Message]) -> None:
        sender, to, message = arrival
        self.ahead = [each for each in self.ahead if each is not arrival]
        self.machines[to].receive(sender, message)
        self._collect(to)

    def _collect(self, node: NodeId) -> None:
        for deed in self.hosts[node].take():
            match deed:
                case Sent(to, message):
                    self.ahead.append((node, to, message))
                    self.sent.append((node, to, message))
                case Delivered(event):
                    self.delivered[node].append(event)
                case Joined(topic):
                    self.joined[node].append(topic)
                case _:
                    raise AssertionError(f"no timer runs in this network: {deed}")
