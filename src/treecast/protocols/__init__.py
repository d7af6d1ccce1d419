"""Protocols: state machines on the contract of `core`, one folder a system."""
