"""Trains models as recipes say."""
