"""Who is concerned by an event: the subscribers of its topic, and of all topics that include it.

Which topics include which is what the journal's metadata note (`HIERARCHY_KEY`); without
the note no topic includes another. A journal also notes which rules its protocol means to
keep (`PROMISES_KEY`), where not all protocols do.
"""

from collections.abc import Collection

import pyarrow as pa

from treecast.journal import PROMISES_KEY, hierarchy_of, promises_of

CAUSAL_ORDER, COMPLETENESS, NO_PARASITES = "causal order", "completeness", "no parasites"
DELIVERED_WAS_RECEIVED = "delivered was received"
_UNNOTED = (CAUSAL_ORDER, COMPLETENESS, DELIVERED_WAS_RECEIVED)


def not_promised(journal: pa.Table, rule: str) -> str | None:
    """Why `rule` is not judged: the protocol promises no such thing; None when it does."""
    promises = promises_of(journal)
    if rule in (_UNNOTED if promises is None else promises):
        return None
    return f"the protocol does not promise it (metadata {PROMISES_KEY.decode()})"


class Interests:
    """The topics of a journal, and those above each."""

    def __init__(self, journal: pa.Table) -> None:
        self._parents = hierarchy_of(journal) or {}
        self._concerned: dict[str, tuple[str, ...]] = {}

    def concerned(self, topic: str) -> tuple[str, ...]:
        """The topic, and all that include it: whose subscribers an event of `topic` is for."""
        found = self._concerned.get(topic)
        if found is None:
            reached, left = {topic: None}, [topic]
            while left:
                for parent in self._parents.get(left.pop(), ()):
                    if parent not in reached:
                        reached[parent] = None
                        left.append(parent)
            found = self._concerned[topic] = tuple(reached)
        return found

    def concerns(self, topic: str, subscribed: Collection[str]) -> bool:
        """Whether an event of `topic` is for who is subscribed to these."""
        return any(each in subscribed for each in self.concerned(topic))
