"""Deliberate mistakes that the tests must catch: ``make mutants``."""
