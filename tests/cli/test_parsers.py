"""Every command declares what it takes without torch."""

import subprocess
import sys

import pytest

from somamba.cli.main import COMMANDS, parser_of

HEAVY = ("torch", "scipy", "nibabel", "h5py", "matplotlib", "skimage", "jsonargparse", "PIL")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_imports_nothing_heavy(command):
    code = (
        "import sys\n"
        "from somamba.cli.main import main\n"
        "try: main([sys.argv[1], '--help'])\n"
        "except SystemExit as leaving: assert leaving.code == 0\n"
        f"print('heavy:', *(name for name in {HEAVY} if name in sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, command], capture_output=True, text=True, check=False)
    assert done.stderr == "heavy:\n"
    assert f"somamba {command}" in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_spelt_with_dashes_and_explained(command):
    def walk(parser):
        for action in parser._actions:
            yield action
            if isinstance(action.choices, dict):
                for part in action.choices.values():
                    yield from walk(part)

    for action in walk(parser_of(command)):
        assert not any("_" in name for name in action.option_strings)
        assert action.help or not action.option_strings or action.required, action.option_strings
