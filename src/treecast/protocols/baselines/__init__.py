"""What the VCube papers are compared with: one tree a topic, always from the same root."""
