"""What ``somamba completion`` takes."""

from somamba.cli.arguments import CommandParser

DESCRIPTION = """Print a script that lets a shell complete commands, options and their values with the TAB key.

examples:
  somamba completion bash > ~/.local/share/bash-completion/completions/somamba
  somamba completion zsh > ~/.zfunc/_somamba     (with fpath+=~/.zfunc and compinit in ~/.zshrc)
  somamba completion fish > ~/.config/fish/completions/somamba.fish"""


def add_options(parser: CommandParser) -> None:
    """Add the options of the command."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="bash, zsh or fish")
