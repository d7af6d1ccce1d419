"""CAMCAST: communities over a topic hierarchy, without parasite events."""
