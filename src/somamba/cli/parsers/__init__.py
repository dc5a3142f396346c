"""What each command takes, one file a command: declarations that need no torch, for help, completion and tests."""
