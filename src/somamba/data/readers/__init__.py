"""One module per dataset: ``find(root)`` lists cases without opening them, ``open_case(entry)`` reads one header."""
