"""LMO, the Linear Mamba Operator."""
