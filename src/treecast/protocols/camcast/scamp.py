"""SCAMP: a group's membership by gossip alone (Ganesh, Kermarrec, Massoulie; CAMCAST's [24]).

A subscription goes a few random steps from the contact given to another (indirection);
that one sends a copy to everyone in its view, and each copy wanders until a view keeps it,
with probability 1 / (1 + its size). Views so come to hold ln N processes on average, though
nobody knows N. Who leaves tells those who have him in their views (his in-view) whom to
take instead, from his own view. A subscription lasts for a lease and is renewed through
somebody in the view, so that the crashed are forgotten; who hears no heartbeats is in
nobody's view and subscribes again. Heartbeats are answered, and who does not answer for
as long leaves the view: were the crashed forgotten by their leases alone, most copies,
which go from view to view, would be lost on one of them.

How many views should hold a process is settled when it subscribes, and changes only with
contacts and leavers (`_due`): a renewal asks for as many copies. Were it as many as the
contact's view holds, as the first time, the mean would wander off, since nothing pulls
it back: SCAMP's ln N comes from the order in which processes came, not from their number.

Invariants:
- only its owner changes a view: others ask by messages;
- nobody keeps a subscription of itself, and none twice;
- of one subscription each view keeps or renews at most one copy: the others wander on;
- who is told that he is in nobody's view any more, or finds his own empty, subscribes again.
"""

import math
from collections.abc import Sequence

from treecast.core import Message, NodeId, Topic
from treecast.protocols.camcast.membership import Membership, Surroundings, drawn
from treecast.protocols.camcast.messages import Beat, Forward, Gone, Heard, Join, Kept, Replace, Welcome

HOPS_MAX = 32
"""After so many hops a copy is kept by whoever has it: more than a view that is full keeps it off."""
ACCEPTED = 4
"""A contact with so many in its in-view or fewer always spreads a subscription whose steps are done."""
SUBSCRIPTIONS_MAX = 256
"""Of so many subscriptions a process remembers how often their copies came by: at most `HOPS_MAX` times each
may one be passed on, so that a network which doubles messages does not make copies without end."""
RETRIES_MAX = 3
OWN_WEIGHT = 0.1
"""How much of a running mean is the process's own view; the rest is what neighbours tell."""
BRIDGES = 3
"""So many processes of a group look for others of it besides, in each lease: two groups that came up at the
same time, each taking itself for the whole, so find one another."""
OFFSET = 0.42
"""Each newcomer adds one entry and as many copies as a view holds: after N subscriptions a view holds
H_N - 1 = ln N - 0.42 on average."""


class Scamp(Membership):
    """One process's partial view and in-view."""

    def __init__(self, around: Surroundings, topic: Topic) -> None:
        super().__init__(around, topic)
        # Of whom is in the view: until when, and by which of his subscriptions.
        self._leases: dict[NodeId, tuple[int, int]] = {}
        self._answered_us: dict[NodeId, int] = {}  # when those in the view last showed that they are there
        self._retried = 0  # how often the present subscription
        self._due = 1  # how many views should hold this process
        self._number = 0  # of its subscriptions
        self._passed: dict[tuple[NodeId, int], int] = {}  # how often copies of each were passed on
        self._in_view: dict[NodeId, int] = {}  # who has this process in his view, and when he last said so
        self._mean = 0.0  # of the sizes of views, here and around
        self._told: list[tuple[int, float]] = []  # since the last beat: others' sizes and means
        self._heard_us = 0
        self._renew_us = 0
        self._standing = False
        self._bridging = False  # subscribing through somebody who may be of a part cut off from this one
        self._lease_us = round(self._settings.lease_ms * 1000)
        self._isolation_us = round(self._settings.isolation_ms * 1000)

    @property
    def in_view(self) -> tuple[NodeId, ...]:
        return tuple(self._in_view)

    def size(self) -> float:
        if self._settings.size is not None:
            return self._settings.size
        if not self.view:
            return 1.0
        return max(2.0, math.exp(self._mean / (self._settings.extra_copies + 1) + OFFSET))

    # -- coming and going -----------------------------------------------------------------

    def begin(self, members: Sequence[NodeId], count: int | None = None) -> None:
        """Views as subscriptions one after the other would have left them, on average."""
        random = self._host.random
        mean = (math.log(len(members)) - OFFSET) * (self._settings.extra_copies + 1)
        whole = math.floor(mean)
        count = count or max(1, whole + (random.random() < mean - whole))
        self._mean = max(1.0, mean)
        for node in drawn(members, self._node, count, random):
            self._take(node, 0, self._lease_us + random.randrange(self._lease_us))
        self._due = count
        self._stand()
        self._renew_us = self._host.now() + random.randrange(self._lease_us)

    def join(self) -> None:
        self._around.search(self.topic)

    def found(self, members: Sequence[NodeId], size: int | None) -> None:
        """Subscribe through one of them; if it stands in the group, that joins the two parts of it."""
        known = self.view if self._standing else ()  # who is not, may yet have kept one who came through it
        others = [node for node in members if node != self._node and node not in known]
        if others:
            self._bridging = self._standing
            direct = self._retried > 0
            self._subscribe(self._host.random.choice(others), renewal=self._standing, direct=direct)
        elif not members and not self._standing:  # it is the group, and goes on looking for others
            self._stand()
            self._around.joined(self.topic)

    def leave(self) -> None:
        view, holders = self.view.members, list(self._in_view)
        substituted = len(holders) - (self._settings.extra_copies + 1)
        for place, holder in enumerate(holders):
            substitute = view[place % len(view)] if view and place < substituted else None
            if substitute == holder:
                substitute = None
            self._host.send(holder, Replace(self.topic, substitute))
        for node in view:
            if node not in self._in_view:
                self._host.send(node, Gone(self.topic))
        self._standing = False
        self.view.clear()
        self._leases.clear()
        self._answered_us.clear()
        self._in_view.clear()
        self._cancel_timers("beat", "join")

    def _stand(self) -> None:
        self._standing = True
        now_us = self._host.now()
        self._heard_us = now_us
        self._renew_us = now_us + self._lease_us
        period_ms = self._settings.heartbeat_ms
        self._set_timer("beat", self._host.random.random() * period_ms)

    def _subscribe(self, contact: NodeId, *, renewal: bool = False, direct: bool = False) -> None:
        """`direct`: the contact itself is to spread it, since steps before have led nowhere."""
        self._number += 1
        copies = self._due if renewal else 0
        steps = -HOPS_MAX if direct else self._settings.indirection
        self._host.send(contact, Join(self.topic, self._node, self._number, steps, copies))
        self._set_timer("join", self._settings.search_ms * (2 + max(0, steps)))

    # -- messages -------------------------------------------------------------------------

    def receive(self, sender: NodeId, message: Message) -> bool:
        match message:
            case Beat():
                self._on_beat(sender, message)
            case Forward():
                self._on_forward(message)
            case Join():
                self._on_join(sender, message)
            case Heard() if sender in self.view:
                self._answered_us[sender] = self._host.now()
            case Heard():
                pass
            case Kept():
                self._due += message.besides and sender not in self._in_view
                self._in_view[sender] = self._host.now()
            case Welcome():
                self._on_welcome(sender, message)
            case Replace():
                self._on_replace(sender, message)
            case _:
                return False
        return True

    def _on_join(self, sender: NodeId, join: Join) -> None:
        subscriber, random = join.subscriber, self._host.random
        # Walks come by in proportion to in-views: stopping in inverse proportion makes all as likely.
        stays = -HOPS_MAX < join.steps <= 0 and random.random() * len(self._in_view) < ACCEPTED
        onward = None if stays or join.steps <= -HOPS_MAX else self.view.choice(random, {subscriber, sender})
        if onward is not None:
            steps = join.steps - 1
            self._host.send(onward, Join(self.topic, subscriber, join.number, steps, join.copies))
        elif subscriber != self._node:  # else its own renewal has come back
            self._spread(subscriber, join)

    def _spread(self, subscriber: NodeId, join: Join) -> None:
        """Be the contact: send copies to everyone in the view, or as many as are asked for."""
        random = self._host.random
        others = self.view.sample(random, len(self.view), {subscriber})
        copies = join.copies or max(1, len(others) + self._settings.extra_copies)
        forward = Forward(self.topic, subscriber, join.number, HOPS_MAX)
        for place in range(copies if others else 0):
            self._host.send(others[place % len(others)], forward)
        if not others:
            self._keep(subscriber, join.number)
        self._host.send(subscriber, Welcome(self.topic, copies, self._mean, self._around.links(self.topic)))

    def _on_forward(self, forward: Forward) -> None:
        """Keep the copy with probability 1 / (1 + view), or pass it on."""
        subscriber, random = forward.subscriber, self._host.random
        mine = subscriber == self._node
        held = self._leases.get(subscriber)
        if held is not None and held[1] != forward.number:
            self._keep(subscriber, forward.number)
            return
        if not mine and held is None and random.random() * (1 + len(self.view)) < 1:
            self._keep(subscriber, forward.number)
            return
        onward = self.view.choice(random, {subscriber}) if forward.hops and self._may_pass(forward) else None
        if onward is not None:
            copy = Forward(self.topic, subscriber, forward.number, forward.hops - 1)
            self._host.send(onward, copy)
        elif not mine and held is None:
            self._keep(subscriber, forward.number)

    def _may_pass(self, forward: Forward) -> bool:
        key = forward.subscriber, forward.number
        times = self._passed[key] = self._passed.pop(key, 0) + 1
        if len(self._passed) > SUBSCRIPTIONS_MAX:
            del self._passed[next(iter(self._passed))]
        return times <= HOPS_MAX

    def _keep(self, subscriber: NodeId, number: int, *, besides: bool = False) -> None:
        self._take(subscriber, number, self._lease_us)
        self._host.send(subscriber, Kept(self.topic, besides))

    def _take(self, node: NodeId, number: int, lease_us: int) -> None:
        if self.view.add(node) or node in self.view:
            now_us = self._host.now()
            self._leases[node] = now_us + lease_us, number
            self._answered_us[node] = now_us

    def _on_welcome(self, contact: NodeId, welcome: Welcome) -> None:
        self._cancel_timers("join")
        self._retried = 0
        self._around.merge(self.topic, welcome.links)
        self._heard_us = self._host.now()
        if not self._standing:
            self._mean = max(1.0, welcome.mean)
            self._due = welcome.copies
            self._stand()
            self._keep(contact, 0, besides=True)
            self._around.joined(self.topic)
        elif self._bridging or not self.view:
            self._bridging = False
            self._keep(contact, 0)  # for one lease: it comes on top of what is due

    def _on_replace(self, sender: NodeId, replace: Replace) -> None:
        substitute = replace.substitute
        if substitute is not None and substitute not in self.view and sender in self.view:
            self.view.replace(sender, substitute)
            if substitute in self.view:
                self._keep(substitute, 0, besides=True)
        self.gone(sender)

    def gone(self, node: NodeId) -> None:
        """`node` has left: it is in no view here, and no view of its holds this process any more."""
        super().gone(node)
        self._leases.pop(node, None)
        self._answered_us.pop(node, None)
        if self._in_view.pop(node, None) is not None:
            self._due = max(1, self._due - 1)
        if self._standing and not (self.view and self._in_view):
            self._return()

    # -- heartbeats, leases, isolation ----------------------------------------------------

    def _on_beat(self, sender: NodeId, beat: Beat) -> None:
        self._heard_us = self._host.now()
        self._in_view[sender] = self._heard_us
        self._host.send(sender, Heard(self.topic))
        self._told.append((beat.size, beat.mean))
        self._around.merge(self.topic, beat.links)

    def timer(self, what: str) -> None:
        if what == "join":
            self._retry()
        elif what == "beat":
            self._beat()

    def _retry(self) -> None:
        """Nobody has spread the subscription: ask another, who need not pass it on; or look for one.

        Those in the view are no use to one who subscribes to be known outside its own part.
        """
        self._retried += 1
        if self._bridging and self._retried <= RETRIES_MAX:
            self._around.search(self.topic)
            return
        contact = self.view.choice(self._host.random)
        if contact is None or self._retried > RETRIES_MAX:
            self._retried = 0
            self._around.search(self.topic)
        else:
            self._subscribe(contact, renewal=self._standing, direct=True)

    def _beat(self) -> None:
        now_us = self._host.now()
        self._forget(now_us)
        self._average()
        links = self._around.links(self.topic)
        for node in self.view:
            self._host.send(node, Beat(self.topic, len(self.view), self._mean, links))
        if not self.view or self._isolated:
            self._return()
        elif now_us >= self._renew_us:
            self._renew_us = now_us + self._lease_us
            contact = self.view.choice(self._host.random)
            if contact is not None:
                self._subscribe(contact, renewal=True)
            if self._host.random.random() * self.size() < BRIDGES:
                self._around.search(self.topic)
        self._set_timer("beat", self._settings.heartbeat_ms)

    @property
    def _isolated(self) -> bool:
        return self._host.now() - self._heard_us > self._isolation_us

    def _return(self) -> None:
        """Nobody seems to know this process: subscribe again, through whom it knows, else by searching."""
        self._heard_us = self._host.now()  # as long again before the next time
        contact = self.view.choice(self._host.random)
        if contact is not None:
            self._subscribe(contact, renewal=True)
        else:
            self._around.search(self.topic)

    def _forget(self, now_us: int) -> None:
        for node in [node for node, (until_us, _) in self._leases.items() if until_us <= now_us]:
            self.view.discard(node)
            del self._leases[node]
            self._answered_us.pop(node, None)
        silent_us = now_us - self._isolation_us
        for node in [node for node, at_us in self._answered_us.items() if at_us < silent_us]:
            self.view.discard(node)
            del self._answered_us[node]
            self._leases.pop(node, None)
        for node in [node for node, heard_us in self._in_view.items() if heard_us < silent_us]:
            del self._in_view[node]

    def _average(self) -> None:
        """Views are told of in proportion to their sizes, so each counts by the inverse of its size."""
        own = float(len(self.view))
        told, self._told = self._told, []
        weight = sum(1 / max(1, size) for size, _ in told)
        around = sum(mean / max(1, size) for size, mean in told) / weight if weight else self._mean
        self._mean = OWN_WEIGHT * own + (1 - OWN_WEIGHT) * around
