"""Runs to judge: a tiny causal broadcast that keeps every rule, and ways to break what it wrote.

The model has no clocks and no trees: a publisher sends to all who are subscribed at that
moment, and a receiver delivers an event when all that happened before it and was sent
to the same subscription has been delivered. When a node crashes, each event that only
the dead have delivered is lost to everybody or to nobody. Time often stands still, so that
rows of different nodes fall on one instant and stand in the order of node ids, not of
happening.
"""

from typing import Any

from hypothesis import strategies as st

Row = dict[str, Any]
Event = tuple[int, int]

TOPICS = ("chat", "news")
COLUMNS = ("time_us", "node", "kind", "message", "topic", "source", "sequence", "peer")


def in_order(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row["time_us"], row["node"]))


def row_of(time_us: int, node: int, kind: str, topic: str | None, **more: Any) -> Row:
    return {**dict.fromkeys(COLUMNS), "time_us": time_us, "node": node, "kind": kind, "topic": topic, **more}


class Broadcast:
    """The model's nodes and what they have written so far."""

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes
        self.now_us = 0
        self.rows: list[Row] = []
        self.subscribed: dict[tuple[str, int], int] = {}  # to the number of this subscription
        self.subscriptions = 0
        self.sequences = [0] * nodes
        self.pasts: dict[Event, set[Event]] = {}
        self.known: dict[tuple[str, int], set[Event]] = {}
        self.under_way: list[tuple[str, int, int, Event]] = []  # topic, receiver, its subscription, event
        self.registered: set[tuple[str, int]] = set()
        self.down: set[int] = set()
        self.keepers: dict[Event, set[int]] = {}  # who published or delivered it and has not crashed since

    def write(self, node: int, kind: str, topic: str | None, **more: Any) -> None:
        self.rows.append(row_of(self.now_us, node, kind, topic, **more))

    def subscribe(self, topic: str, node: int, told: bool) -> None:
        """`told`: a SUB goes round, as it does for all but those who are subscribed from the start."""
        self.write(node, "subscribe", topic)
        self.subscriptions += 1
        self.subscribed[topic, node] = self.subscriptions
        if told:
            name = {"message": "SUB", "source": node, "sequence": self.next_sequence(node)}
            for peer in range(self.nodes):
                if peer != node:
                    self.write(node, "send", topic, peer=peer, **name)
                    if peer not in self.down:
                        self.write(peer, "receive", topic, peer=node, **name)
        self.write(node, "joined", topic)

    def unsubscribe(self, topic: str, node: int) -> None:
        self.write(node, "unsubscribe", topic)
        del self.subscribed[topic, node]

    def register(self, topic: str, node: int) -> None:
        self.write(node, "register", topic)
        self.registered.add((topic, node))

    def unregister(self, topic: str, node: int) -> None:
        self.write(node, "unregister", topic)
        self.registered.discard((topic, node))

    def crash(self, node: int, loses: bool) -> None:
        """`loses`: what nobody keeps any more reaches nobody any more."""
        self.write(node, "crash", None)
        self.down.add(node)
        for topic in TOPICS:
            self.subscribed.pop((topic, node), None)
            self.registered.discard((topic, node))
            self.known.pop((topic, node), None)
        for keepers in self.keepers.values():
            keepers.discard(node)
        if loses:
            self.under_way = [one for one in self.under_way if self.keepers[one[3]]]

    def recover(self, node: int) -> None:
        self.write(node, "recover", None)
        self.down.discard(node)

    def publish(self, topic: str, node: int) -> None:
        event = (node, self.next_sequence(node))
        known = self.known.setdefault((topic, node), set())
        self.pasts[event] = set(known)
        name = {"source": node, "sequence": event[1]}
        self.write(node, "publish", topic, **name)
        if (topic, node) in self.subscribed:
            self.write(node, "deliver", topic, **name)
        known.add(event)
        self.keepers[event] = {node}
        for peer in range(self.nodes):
            if peer != node and (topic, peer) in self.subscribed:
                self.write(node, "send", topic, message="PUB", peer=peer, **name)
                self.under_way.append((topic, peer, self.subscribed[topic, peer], event))

    def next_sequence(self, node: int) -> int:
        self.sequences[node] += 1
        return self.sequences[node]

    def ready(self) -> list[tuple[str, int, int, Event]]:
        """Who can be received next: nothing under way to the same subscription happened before it."""
        return [
            one
            for one in self.under_way
            if not any(other[:3] == one[:3] and other[3] in self.pasts[one[3]] for other in self.under_way)
        ]

    def receive(self, one: tuple[str, int, int, Event]) -> None:
        topic, node, subscription, event = one
        self.under_way.remove(one)
        if node in self.down:
            return
        name = {"source": event[0], "sequence": event[1]}
        self.write(node, "receive", topic, message="PUB", peer=event[0], **name)
        if self.subscribed.get((topic, node)) == subscription:
            self.write(node, "deliver", topic, **name)
            self.known.setdefault((topic, node), set()).update(self.pasts[event] | {event})
            self.keepers[event].add(node)


@st.composite
def correct_runs(draw: st.DrawFn, steps_max: int = 30) -> list[Row]:
    """A run that keeps every rule, with nothing left to happen."""
    run = Broadcast(draw(st.integers(1, 5)))
    node = st.integers(0, run.nodes - 1)
    for topic in TOPICS:
        for start in sorted(draw(st.sets(node))):
            run.subscribe(topic, start, told=False)
    steps = ["publish", "publish", "receive", "receive", "receive", "churn"]
    steps += ["fault"] * draw(st.integers(0, 2))
    for _ in range(draw(st.integers(0, steps_max))):
        run.now_us += draw(st.integers(0, 2))
        what = draw(st.sampled_from(steps))
        publishers = sorted(run.subscribed.keys() | run.registered)
        if what == "receive" and run.ready():
            run.receive(draw(st.sampled_from(run.ready())))
        elif what == "publish" and publishers:
            run.publish(*draw(st.sampled_from(publishers)))
        elif what == "churn":
            _churn(draw, run, draw(st.sampled_from(TOPICS)), draw(node))
        elif what == "fault":
            who = draw(node)
            if who in run.down:
                run.recover(who)
            else:
                run.crash(who, loses=draw(st.booleans()))
    while run.ready():
        run.now_us += draw(st.integers(0, 2))
        run.receive(draw(st.sampled_from(run.ready())))
    return in_order(run.rows)


def _churn(draw: st.DrawFn, run: Broadcast, topic: str, node: int) -> None:
    if node in run.down:
        return
    if draw(st.integers(0, 3)) == 0:
        change = run.unregister if (topic, node) in run.registered else run.register
        change(topic, node)
    elif (topic, node) in run.subscribed:
        run.unsubscribe(topic, node)
    else:
        run.subscribe(topic, node, told=True)


@st.composite
def broken_runs(draw: st.DrawFn) -> list[Row]:
    """A correct run after one to three changes; they break rules as a rule, not always."""
    rows = [dict(row) for row in draw(correct_runs())]
    for _ in range(draw(st.integers(1, 3))):
        if rows:
            rows = in_order(draw(st.sampled_from(CHANGES))(draw, rows))
    return rows


def _drop(draw: st.DrawFn, rows: list[Row]) -> list[Row]:
    at = draw(st.integers(0, len(rows) - 1))
    return rows[:at] + rows[at + 1 :]


def _cut(draw: st.DrawFn, rows: list[Row]) -> list[Row]:
    """A node crashes or starts again out of turn."""
    at = draw(st.integers(0, len(rows)))
    time_us, node = (rows[at]["time_us"], rows[at]["node"]) if at < len(rows) else (rows[-1]["time_us"], 0)
    return [*rows[:at], row_of(time_us, node, draw(st.sampled_from(("crash", "recover"))), None), *rows[at:]]


def _lose_delivery(draw: st.DrawFn, rows: list[Row]) -> list[Row]:
    """A node never gets what somebody else published."""
    places = [at for at, row in enumerate(rows) if row["kind"] == "deliver" and row["node"] != row["source"]]
    if not places:
        return rows
    at = draw(st.sampled_from(places))
    return rows[:at] + rows[at + 1 :]


def _repeat(draw: st.DrawFn, rows: list[Row]) -> list[Row]:
    at = draw(st.integers(0, len(rows) - 1))
    again = dict(rows[at], time_us=draw(st.integers(rows[at]["time_us"], rows[-1]["time_us"] + 1)))
    return [*rows, again]


def _move(draw: st.DrawFn, rows: list[Row]) -> list[Row]:
    at = draw(st.integers(0, len(rows) - 1))
    moved = dict(rows[at], time_us=draw(st.integers(0, rows[-1]["time_us"] + 1)))
    rest = rows[:at] + rows[at + 1 :]
    to = draw(st.integers(0, len(rest)))
    return [*rest[:to], moved, *rest[to:]]


def _swap_deliveries(draw: st.DrawFn, rows: list[Row]) -> list[Row]:
    """Two deliveries of one node change places, and keep their own times."""
    node = draw(st.sampled_from(sorted({row["node"] for row in rows})))
    places = [at for at, row in enumerate(rows) if (row["kind"], row["node"]) == ("deliver", node)]
    if len(places) < 2:
        return rows
    one, other = draw(st.sampled_from(places)), draw(st.sampled_from(places))
    rows = list(rows)
    first, second = rows[one], rows[other]
    rows[one] = dict(second, time_us=first["time_us"])
    rows[other] = dict(first, time_us=second["time_us"])
    return rows


def _forge(draw: st.DrawFn, rows: list[Row]) -> list[Row]:
    """One value of one row is another."""
    at = draw(st.integers(0, len(rows) - 1))
    column = draw(st.sampled_from([name for name in COLUMNS[1:] if rows[at][name] is not None]))
    values = {
        "kind": st.sampled_from(["crash", "recover"])
        if rows[at]["topic"] is None
        else st.sampled_from(["subscribe", "unsubscribe", "joined", "register", "unregister"])
        if rows[at]["source"] is None
        else st.sampled_from(["publish", "deliver"] if rows[at]["peer"] is None else ["send", "receive"]),
        "message": st.sampled_from(["PUB", "SUB", "ACK"]),
        "topic": st.sampled_from(TOPICS),
    }
    forged = draw(values.get(column, st.integers(0, 5)))
    return [*rows[:at], dict(rows[at], **{column: forged}), *rows[at + 1 :]]


CHANGES = (_drop, _cut, _lose_delivery, _repeat, _move, _swap_deliveries, _forge)
