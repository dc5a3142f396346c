"""Tables made from rows of results. Nothing here needs torch."""
