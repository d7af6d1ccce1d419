"""Pure data structures: no effects, no clock, no randomness; the proofs live here."""
