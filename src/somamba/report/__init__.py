"""Tables, charts and pages made from rows of results and kept slices. Nothing here needs torch."""
