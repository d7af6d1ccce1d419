"""treecast: brokerless publish/subscribe over trees that every publisher grows.

Invariant: importing the package imports nothing heavy; each sub-package is
imported where it is used.
"""

__version__ = "0.1.0"
