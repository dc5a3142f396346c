"""Arguments that several commands understand in the same way."""

import argparse


def image_size(text: str) -> tuple[int, int]:
    """Read ``320`` or ``256x218`` as height and width."""
    height, _, width = text.partition("x")
    try:
        size = int(height), int(width or height)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; write 320 or 256x218") from error
    if min(size) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; both numbers must be positive")
    return size


def teaching_parser(command: str, description: str) -> argparse.ArgumentParser:
    """A parser whose ``--help`` prints the description as it is written."""
    return argparse.ArgumentParser(
        prog=f"somamba {command}", description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
