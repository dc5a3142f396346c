"""Coils of a receiver: their sensitivity maps, and few virtual ones in the place of many."""
