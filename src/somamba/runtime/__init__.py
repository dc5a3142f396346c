"""The circumstances of a computation: device, processes, threads, locks, and which code runs."""
