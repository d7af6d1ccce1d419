"""Make a synthetic recorded workload: `python tools/make_comments.py USERS EVENTS [SEED] > FILE`.

The form is that of `treecast.sim.recorded`, the distributions those of the comments that
Pulsarcast was measured with (section 5, figures 8 and 9): a few topics have nearly all events,
each of the others about a third fewer than the one before; anybody is as likely to write as
anybody else; who writes in a topic is subscribed to it, and nobody else is.
"""

import json
import sys
from random import Random

LARGE_SHARES = (0.6, 0.18, 0.12, 0.07)
"""Of the events, in the four largest topics; the rest is left to the others."""
TOPICS = 23
DECLINE = 0.7
"""How many events a small topic has, to those of the next larger one."""
UPS = (1, 1, 1, 1, 2, 2, 3, 0, -1, 5, 17)


def records(users: int, events: int, seed: int) -> list[dict[str, object]]:
    """The topics' records, then the users'."""
    random = Random(f"comments/{seed}")
    small = [DECLINE**rank for rank in range(TOPICS - len(LARGE_SHARES))]
    left = 1 - sum(LARGE_SHARES)
    shares = [*LARGE_SHARES, *(left * each / sum(small) for each in small)]
    names = [f"topic-{number:02}" for number in range(1, TOPICS + 1)]
    places = [*range(TOPICS), *random.choices(range(TOPICS), shares, k=max(0, events - TOPICS))]
    random.shuffle(places)
    written: list[list[tuple[int, int]]] = [[] for _ in range(users)]
    for internal, place in enumerate(places[:events]):
        written[random.randrange(users)].append((internal, place))
    found: list[dict[str, object]] = []
    for place, name in enumerate(names):
        authors = [user for user, each in enumerate(written) if any(topic == place for _, topic in each)]
        owner = random.choice(authors) if authors else random.randrange(users)
        total = sum(topic == place for each in written for _, topic in each)
        about = {"name": name, "author": f"user{owner:05}", "totalNumberEvents": total}
        found.append({"type": "topic", "node": f"node-{owner + 1}", **about})
    for user, each in enumerate(written):
        comments = [
            {
                "internalId": internal,
                "topic": names[place],
                "ups": random.choice(UPS),
                "downs": 0,
                "controversiality": 0,
            }
            for internal, place in each
        ]
        subscriptions = {names[place]: True for _, place in each}
        about = {"name": f"user{user:05}", "node": f"node-{user + 1}"}
        found.append({"type": "user", **about, "events": comments, "subscriptions": subscriptions})
    return found


def main() -> None:
    if len(sys.argv) not in {3, 4}:
        sys.exit("usage: python tools/make_comments.py USERS EVENTS [SEED] > FILE")
    users, events, seed = (int(each) for each in [*sys.argv[1:], "0"][:3])
    for record in records(users, events, seed):
        print(json.dumps(record, separators=(",", ":")))


if __name__ == "__main__":
    main()
