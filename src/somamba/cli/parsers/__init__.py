"""What each command takes, one file a command: text and options that need no torch, for help, completion and tests."""
