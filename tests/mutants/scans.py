"""Mistakes in what is done to a scan besides the network: held-out samples, coils, the last step, adaptation, folders."""

from mutants.mistake import Mistake

HELD_OUT = "physics/test_held_out.py"
COILS = "physics/coils/test_compression.py"
ADAPT = "inference/test_adaptation.py"
FOLDER = "data/readers/test_folder.py"

MISTAKES = (
    Mistake("every second line is held out", "EVERY = 4\n", "EVERY = 2\n", HELD_OUT),
    Mistake("edges of a narrow block are held out", "LEAST_BLOCK = 8\n", "LEAST_BLOCK = 2\n", HELD_OUT),
    Mistake(
        "the edges of the calibration block stay",
        "edges = [start, stop - 1] if stop - start >= LEAST_BLOCK else []",
        "edges: list[int] = []",
        HELD_OUT,
    ),
    Mistake(
        "the residual is of squares alone",
        "return (squares + rest.sum(dim=1) / size.sum(dim=1)) / 2",
        "return squares",
        HELD_OUT,
    ),
    Mistake(
        "the residual is that of what is seen",
        "rest = (self.hidden_operator(images) - self.hidden).abs()",
        "rest = (self.A(images) - self.y).abs()",
        HELD_OUT,
    ),
    Mistake(
        "the weakest virtual coils are kept",
        "energies, mixes = energies.flip(0).clamp(min=0), mixes.flip(1)",
        "energies, mixes = energies.clamp(min=0), mixes",
        COILS,
    ),
    Mistake("coils are mixed without conjugation", "mixes[:, :n_coils].mH.to(", "mixes[:, :n_coils].mT.to(", COILS),
    Mistake(
        "more coils are kept than usual",
        'MOST_COILS = 12\n"""Coils',
        'MOST_COILS = 16\n"""Coils',
        "test_defaults.py cli/test_declared.py",
    ),
    Mistake(
        "a gap counts as none",
        "return bool((ends == 1).all())",
        "return bool((ends >= 1).all())",
        f"{HELD_OUT} models/test_refined.py",
    ),
    Mistake(
        "the last step replaces the network's image",
        "sparse_image(y, A, sparsity, prior=image, weight=weight, iterations",
        "sparse_image(y, A, sparsity, prior=0 * image, weight=weight, iterations",
        "models/test_refined.py",
    ),
    Mistake(
        "every slice chooses its strengths",
        "self.used = strengths = self.fixed or self.strengths(y, A)",
        "self.used = strengths = self.strengths(y, A)",
        "models/test_refined.py inference/test_reconstruct.py",
    ),
    Mistake("a worse adaptation is kept", "if residual < self.best:\n", "if True:\n", ADAPT),
    Mistake(
        "the network that is given is adapted",
        "network = copy.deepcopy(trained.model).to(device)",
        "network = trained.model.to(device)",
        ADAPT,
    ),
    Mistake(
        "the part of a subject follows from its case",
        'hashlib.sha256(f"folder/{subject}".encode())',
        'hashlib.sha256(f"folder/{subject.upper()}".encode())',
        FOLDER,
    ),
    Mistake(
        "no subject is for validation",
        'return "test" if tenth == 0 else "val" if tenth == 1 else "train"',
        'return "test" if tenth == 0 else "train"',
        FOLDER,
    ),
    Mistake(
        "every file is a subject of its own",
        "        return path.parts[0]\n    match",
        "        return stem(path)\n    match",
        FOLDER,
    ),
)
