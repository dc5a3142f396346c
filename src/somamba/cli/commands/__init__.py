"""One module for each command: its function ``main`` parses, calls the library and prints."""
