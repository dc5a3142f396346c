"""The cost of a network: parameters and multiply-accumulates counted, seconds and memory measured."""
