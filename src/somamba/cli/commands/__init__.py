"""One module for each command: its function ``main`` takes the parsed options, calls the library and prints."""
