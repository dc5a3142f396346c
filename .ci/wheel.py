"""Checks what is in a wheel: all modules, weights that match their digests, the sample; no journal, no stray file.

python .ci/wheel.py dist/somamba-*.whl [--without-kernels]
"""

import hashlib
import sys
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).resolve().parents[1]
LARGEST = 12_000_000
"""The most bytes a wheel may have, packed. Weights and sample are 4 MB, the kernels for x86-64 are 1 MB packed."""
KINDS = {".py", ".typed", ".md", ".safetensors", ".yaml", ".npz", ".html", ".css", ".js", ".so", ".pyd"}
NAMES = {"SHA256SUMS", "LICENSE.pyqmri", "LICENSE", "METADATA", "RECORD", "WHEEL", "entry_points.txt", "top_level.txt"}


def faults(wheel: Path, *, with_kernels: bool) -> list[str]:
    """What is wrong with a wheel, one sentence each."""
    with ZipFile(wheel) as archive:
        content = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    own = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src" / "somamba").rglob("*.py")}
    found = [f"{name} is missing." for name in sorted(own - content.keys())]
    for name in content:
        path = Path(name)
        licence = ".dist-info/licenses/" in name
        if not licence and path.suffix not in KINDS and path.name not in NAMES:
            found.append(f"{name} does not belong into a wheel.")
    kernels = [name for name in content if name.startswith("somamba/native/kernels")]
    if len(kernels) != int(with_kernels):
        found.append(f"{int(with_kernels)} file of kernels is wanted, there are: {kernels}.")
    weights = [name for name in content if name.startswith("somamba/bundled_weights/") and name.endswith("SHA256SUMS")]
    if not weights:
        found.append("There are no bundled weights.")
    for sums in weights:
        for line in content[sums].decode().splitlines():
            digest, name = line.split("  ")
            data = content.get(f"{Path(sums).parent.as_posix()}/{name}")
            if data is None or hashlib.sha256(data).hexdigest() != digest:
                found.append(f"{name}, which {sums} names, is missing or differs.")
    if not any(name.startswith("somamba/samples/") and name.endswith(".npz") for name in content):
        found.append("The sample scan is missing.")
    if (size := wheel.stat().st_size) > LARGEST:
        found.append(f"It has {size:,} bytes, more than {LARGEST:,}.")
    return found


def main() -> None:
    """Check every wheel that is named; leave with 1 if one is wrong."""
    words = sys.argv[1:]
    wheels = [Path(word) for word in words if not word.startswith("-")]
    for missing in (wheel for wheel in wheels if not wheel.is_file()):
        raise SystemExit(f"There is no wheel {missing}.")
    wrong = {wheel: faults(wheel, with_kernels="--without-kernels" not in words) for wheel in wheels}
    for wheel, sentences in wrong.items():
        print(f"{wheel.name}: {wheel.stat().st_size:,} bytes{'' if sentences else ', as it should be'}")
        for sentence in sentences:
            print(f"  {sentence}")
    if not wheels or any(wrong.values()):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
