"""One noun, one meaning: no class name is defined twice in the package."""

import ast
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "somamba"
NETWORKS = "parts of different networks, each named as in its paper"
EXCEPTIONS = {
    "Attention": NETWORKS,
    "Block": NETWORKS + ", and a block of the compiled stream",
    "Bottleneck": NETWORKS,
    "Depthwise": "a layer of FPS-Former, and the C structure of the kernel",
    "Entry": "a line of the table of networks, and a case that a dataset lists",
    "Group": NETWORKS,
    "Mixer": NETWORKS,
    "Plan": "what a training does, and what a phantom holds",
    "Refined": "a phase of ISTA-Net, and a network with refinement",
    "Unit": NETWORKS,
}


def defined():
    """How often each class name is defined; names of nested classes count too."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py")]
    return Counter(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def test_no_class_name_is_defined_twice():
    double = {name for name, count in defined().items() if count > 1}
    assert double <= set(EXCEPTIONS), f"defined more than once: {sorted(double - set(EXCEPTIONS))}; choose other names"
