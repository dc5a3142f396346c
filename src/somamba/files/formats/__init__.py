"""What the reading process does with each format of files: a table of contents, and arrays in parts."""
