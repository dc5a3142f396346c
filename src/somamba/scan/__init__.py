"""The Mamba-3 MIMO recurrence and its backends. Knows tokens, not images."""
