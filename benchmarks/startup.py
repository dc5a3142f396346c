"""How much processor time it takes until somamba answers, in multiples of what Python itself takes to start.

    python benchmarks/startup.py

Every command line runs several times in turn with ``python -c pass``, and the fastest run of each counts. The processor
time of a process does not depend on what else the machine does. ``import somamba`` should add less than 60 ms and
``somamba --help`` less than 250 ms.
"""

import resource
import subprocess
import sys

REPEATS = 7
PLAIN = "python -c pass"
LINES = {
    PLAIN: ["-c", "pass"],
    "import somamba": ["-c", "import somamba"],
    "somamba --help": ["-m", "somamba", "--help"],
    "somamba --version": ["-m", "somamba", "--version"],
    "somamba evaluate --help": ["-m", "somamba", "evaluate", "--help"],
    "somamba reconstruct --help": ["-m", "somamba", "reconstruct", "--help"],
    "somamba train --help": ["-m", "somamba", "train", "--help"],
    "somamba data --help": ["-m", "somamba", "data", "--help"],
    "somamba report --help": ["-m", "somamba", "report", "--help"],
    "import torch": ["-c", "import torch"],
}


def seconds(arguments: list[str]) -> float:
    """Processor time of a Python process with these arguments, its own and the system's."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    """Measure and print."""
    fastest = dict.fromkeys(LINES, float("inf"))
    for _ in range(REPEATS):
        for name, arguments in LINES.items():
            fastest[name] = min(fastest[name], seconds(arguments))
    plain = fastest[PLAIN]
    print(f"{'':<28}{'ms':>8}{'beyond Python':>16}{'ratio':>8}")
    for name, value in fastest.items():
        print(f"{name:<28}{1000 * value:8.0f}{1000 * (value - plain):16.0f}{value / plain:8.1f}")


if __name__ == "__main__":
    main()
