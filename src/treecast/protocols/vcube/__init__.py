"""The VCube family: broadcast trees that every source grows on the virtual hypercube."""
