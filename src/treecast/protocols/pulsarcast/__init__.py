"""Pulsarcast: dissemination trees over Kademlia, and a history of linked, immutable descriptors."""
