"""What a table shows, for tests."""


def texts(line):
    """The texts of a line, None for what was not measured."""
    return [cell and cell.text for cell in line]


def names(table):
    """The first text of every line."""
    return [line[0].text for line in table.lines]


def titles(table):
    return [column.title for column in table.columns]
