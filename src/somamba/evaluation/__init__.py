"""What is computed of a model: scores, leakage, streams, cost and galleries."""
