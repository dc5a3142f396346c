"""A reconstruction as a file people can use: `somamba.inference.writers.writing.write`."""
