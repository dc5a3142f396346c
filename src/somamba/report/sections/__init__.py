"""The sections of a report page, each named for what it shows."""
