"""VCube's detectors in rounds that all nodes begin at once, and how far news of a crash can be after each.

All test at one instant, and nobody has heard of what the others learn in the same round:
news moves one test a round. Where rounds begin at different times, as in the simulator, a
node asks once in any time of a round's length, so news never moves slower than that.
"""

from collections.abc import Iterable, Sequence

from recording_host import RecordingHost, Sent, TimerSet

from treecast.core import ID_BITS, NodeId
from treecast.protocols.vcube.detector import Detector
from treecast.protocols.vcube.pb_messages import Answer, Test
from treecast.protocols.vcube.settings import VCubePBSettings
from treecast.structures import hypercube


class Unheard:
    """A listener that cares for nothing; `on_standing` and the like are another test's matter."""

    def on_round(self) -> None: ...
    def on_lost(self, node: NodeId, life: int) -> None: ...
    def on_found(self, node: NodeId) -> None: ...
    def on_standing(self, standing: object) -> None: ...


class Rounds:
    """Some detectors, of which some crash."""

    def __init__(self, nodes: Sequence[NodeId]) -> None:
        self.hosts = {node: RecordingHost(node) for node in nodes}
        self.live = {
            node: Detector(host, node, nodes, VCubePBSettings(), Unheard())
            for node, host in self.hosts.items()
        }
        for node, detector in self.live.items():
            detector.start()
            (begin,) = self.hosts[node].take()
            assert isinstance(begin, TimerSet)
            self._round = begin.key
        self.tested: dict[NodeId, list[NodeId]] = {}
        """By node: whom it tested in the last round, in order."""

    def crash(self, node: NodeId) -> None:
        del self.live[node]

    def run(self) -> None:
        """One round of everybody's."""
        self.tested = {node: [] for node in self.live}
        timeouts = self._test(self._round, self.live)
        while timeouts:
            (key,) = set(timeouts.values())
            timeouts = self._test(key, timeouts)

    def _test(self, timer: object, nodes: Iterable[NodeId]) -> dict[NodeId, object]:
        """A timer runs out at these nodes; return who waits for an answer that will not come."""
        tests: list[tuple[NodeId, NodeId, Test]] = []
        waiting: dict[NodeId, object] = {}
        for node in nodes:
            assert self.live[node].timer(timer)
            for deed in self.hosts[node].take():
                if isinstance(deed, Sent):
                    assert isinstance(deed.message, Test)
                    tests.append((node, deed.to, deed.message))
                    self.tested[node].append(deed.to)
                elif isinstance(deed, TimerSet) and deed.key != self._round:
                    waiting[node] = deed.key
        answers: list[tuple[NodeId, NodeId, Answer]] = []
        silent: set[NodeId] = set()
        for tester, tested, test in tests:
            if tested not in self.live:
                silent.add(tester)
                continue
            self.live[tested].on_test(tester, test)
            for deed in self.hosts[tested].take():
                assert isinstance(deed, Sent)
                assert isinstance(deed.message, Answer)
                answers.append((tested, deed.to, deed.message))
        for tested, tester, answer in answers:
            self.live[tester].on_answer(tested, answer)
            self.hosts[tester].take()
        return {node: key for node, key in waiting.items() if node in silent}


def rounds_until_known(nodes: Sequence[NodeId], crashed: NodeId) -> dict[NodeId, int]:
    """By fault-free node: the round in which it learns of the crash, driven to the end."""
    network = Rounds(nodes)
    network.crash(crashed)
    found: dict[NodeId, int] = {}
    for turn in range(1, len(nodes) + 1):
        network.run()
        for node, detector in network.live.items():
            if detector.is_suspected(crashed):
                found.setdefault(node, turn)
        if len(found) == len(network.live):
            return found
    raise AssertionError(f"of nodes {nodes}, some never learn of the crash of {crashed}")


def rounds_by_distance(nodes: Sequence[NodeId], crashed: NodeId) -> dict[NodeId, int]:
    """The same without driving: a node learns one round after the first of those whom it tests.

    While a node has not heard of the crash, it tests the first member of each of its
    clusters, in every round the same; the crash itself speaks to those who test its
    victim. So the round is the distance to the victim along tests.
    """
    testers: dict[NodeId, list[NodeId]] = {node: [] for node in nodes}
    for node in nodes:
        for tested in hypercube.children(node, nodes, ID_BITS):
            testers[tested].append(node)
    found = {crashed: 0}
    ahead = [crashed]
    for node in ahead:
        for tester in testers[node]:
            if tester not in found:
                found[tester] = found[node] + 1
                ahead.append(tester)
    del found[crashed]
    return found
