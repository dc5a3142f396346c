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
    Mistake(
        "weights that are adapted again forget the first time",
        '"earlier": adaptations(trained.config),',
        '"earlier": [],',
        ADAPT,
    ),
    Mistake("weights of any scan fit this one", "    if all(own):\n", "    if records:\n", ADAPT),
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
    Mistake(
        "the samples that decide an adaptation are learned from",
        "        y, A = one.y, one.A\n        height, rows = y.shape[-2]",
        "        from somamba.physics.held_out import with_mask\n        y, A = one.y + one.hidden, with_mask(\n"
        "            one.A, sampled_mask(one.A) | sampled_mask(one.hidden_operator)\n"
        "        )\n"
        "        height, rows = y.shape[-2]",
        ADAPT,
    ),
    Mistake(
        "an adaptation keeps the weights of its last step",
        "for name, value in self.average.module.state_dict().items()}",
        "for name, value in self.network.state_dict().items()}",
        ADAPT,
    ),
    Mistake(
        "an adaptation ends one look later",
        "without_gain >= self.settings.patience",
        "without_gain > self.settings.patience",
        ADAPT,
    ),
    Mistake(
        "fat keeps the phase of water",
        "image * (1 - share) + image * share * turn",
        "image * (1 - share) + image * share * turn.abs()",
        "data/simulation/test_fat.py",
    ),
    Mistake(
        "holes in an object count as its outside",
        "np.pad(binary_fill_holes(coarse), 1)",
        "np.pad(coarse, 1)",
        "data/simulation/test_fat.py",
    ),
    Mistake(
        "a scan and its negative are not told apart",
        "return angle if along.real >= 0 else angle + cmath.pi",
        "return angle",
        "physics/test_scale.py",
    ),
    Mistake(
        "the slightest gain changes the strengths",
        "best, least, goal = first, residual, residual * (1 - self.config.margin)",
        "best, least, goal = first, residual, residual",
        "models/test_refined.py",
    ),
    Mistake(
        "the usual strengths are never left",
        "best = Strengths(*(torch.where(better, new, old)",
        "Strengths(*(torch.where(better, new, old)",
        "models/test_refined.py",
    ),
    Mistake(
        "the threshold ignores the length of a step",
        "shrink(descended, sparsity * step, shift",
        "shrink(descended, sparsity, shift",
        "physics/test_sparse.py",
    ),
    Mistake(
        "the pull to the prior image is left out",
        "right = right + weight * prior",
        "right = right + 0 * weight * prior",
        "physics/test_sparse.py",
    ),
    Mistake(
        "the coarse part of an image is made sparse too",
        "coarse if levels == 1 else _shrunk(",
        "small[..., : half[0], : half[1]] if levels == 1 else _shrunk(",
        "physics/test_wavelet.py",
    ),
    Mistake(
        "the worst strength of l1_wavelet is taken",
        "best = residuals.argmin(dim=0)",
        "best = residuals.argmax(dim=0)",
        "models/classical/test_l1_wavelet.py",
    ),
    Mistake(
        "whitening is not undone by the noise power",
        "np.sqrt(power.mean()) * np.linalg.inv(np.linalg.cholesky(covariance))",
        "np.linalg.inv(np.linalg.cholesky(covariance))",
        "raw/test_noise.py",
    ),
    Mistake(
        "images keep the scale of training",
        "A.to(device)).cpu()) * scale)",
        "A.to(device)).cpu()))",
        "inference/test_recovery.py",
    ),
    Mistake(
        "right is left",
        "LPS_TO_RAS = np.diag([-1.0, -1.0, 1.0])",
        "LPS_TO_RAS = np.diag([1.0, -1.0, 1.0])",
        "raw/test_geometry.py",
    ),
    Mistake(
        "slices stay in the order in which they were acquired",
        'order = np.argsort(along, kind="stable")',
        "order = np.arange(len(along))",
        "raw/test_stack.py",
    ),
    Mistake(
        "slices of other directions get the place of the first",
        "if not np.allclose(directions, directions[0], atol=TOLERANCE):",
        "if False:",
        "raw/formats/test_mrd.py -k no_stack",
    ),
)
