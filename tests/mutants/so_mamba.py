"""Mistakes in SO-Mamba: its stages, its router, its routes and its mixer."""

from mutants.mistake import Mistake

GROUP = "models/so_mamba/test_model.py -k 'paper_says or proximal_step'"
MIXER = "models/so_mamba/test_mixer.py"
WEIGHTS = "models/layers/test_sample_weights.py"

MISTAKES = (
    Mistake("weights of samples are taken twice", "[..., 0] / 2)", "[..., 0])", WEIGHTS),
    Mistake("the compiled loop forgets the weights", "root.detach().square() * mask", "mask", f"{WEIGHTS} -k compiled"),
    Mistake(
        "every layer may be missing in old weights",
        "may_lack=neutral_names(model)",
        "may_lack=model.state_dict()",
        "training/run/test_checkpoints.py",
    ),
    Mistake(
        "the update of a group is halved",
        "self.consistency(x + to_complex(update), y, A)",
        "self.consistency(x + 0.5 * to_complex(update), y, A)",
        GROUP,
    ),
    Mistake(
        "the image is left out of z = x + R(x)",
        "self.consistency(x + to_complex(update), y, A)",
        "self.consistency(to_complex(update), y, A)",
        GROUP,
    ),
    Mistake(
        "the imaginary part is not shown to a group",
        "F.pad(to_channels(x), spare",
        "F.pad(to_channels(x.real + 0j * x), spare",
        GROUP,
    ),
    Mistake(
        "a group ends without data consistency",
        "return self.consistency(x + to_complex(update), y, A), features",
        "return x + to_complex(update), features",
        GROUP,
    ),
    Mistake(
        "features are carried though nobody asked",
        "carried = features if self.config.carry_features else None",
        "carried = features",
        GROUP,
    ),
    Mistake(
        "all units take the first order",
        "config.scan_orders[i % len(config.scan_orders)]",
        "config.scan_orders[0]",
        "models/so_mamba/test_model.py -k order",
    ),
    Mistake(
        "the decoder does not start at zero",
        "nn.init.zeros_(self.project.weight)\n        nn.init.zeros_(self.project.bias)\n\n    def forward(self, features: Grid) -> Tensor:",
        "nn.init.zeros_(self.project.bias)\n\n    def forward(self, features: Grid) -> Tensor:",
        "models/so_mamba/test_model.py -k untrained",
    ),
    Mistake(
        "the carrier is a box, not a binomial",
        "[1.0, 5.0, 10.0, 10.0, 5.0, 1.0] if compaction",
        "[1.0, 1.0, 1.0, 1.0, 1.0, 1.0] if compaction",
        "models/so_mamba/test_router.py",
    ),
    Mistake(
        "the carrier is restored by the nearest pixel",
        'F.interpolate(v, size=size, mode="bilinear", align_corners=False)',
        "F.interpolate(v, size=size)",
        "models/so_mamba/test_router.py",
    ),
    Mistake(
        "G lacks what the carrier rejects",
        "evidence.add_(candidate).sub_(carrier.flatten(0, 2))",
        "evidence.add_(0 * candidate)",
        "models/so_mamba/test_router.py",
    ),
    Mistake(
        "the edge of the carrier is zero, not reflected",
        'F.pad(u.permute(0, 3, 1, 2), (2, 2, 2, 2), mode="reflect")',
        "F.pad(u.permute(0, 3, 1, 2), (2, 2, 2, 2))",
        "models/so_mamba/test_router.py",
    ),
    Mistake(
        "content residency admits half of G",
        "return carrier + admitted if self.mix is None",
        "return carrier + 0.5 * admitted if self.mix is None",
        "models/so_mamba/test_ownership.py",
    ),
    Mistake(
        "content residency admits nothing",
        "return carrier + admitted if self.mix is None",
        "return carrier if self.mix is None",
        "models/so_mamba/test_ownership.py",
    ),
    Mistake(
        "SO-Mamba admits G",
        'case "none":\n            return None',
        'case "none":\n            return nn.Identity()',
        "models/so_mamba/test_ownership.py -k content",
    ),
    Mistake(
        "gates start open",
        "nn.Parameter(torch.zeros(size))",
        "nn.Parameter(torch.ones(size))",
        "models/so_mamba/test_residency.py",
    ),
    Mistake(
        "one gate serves for all channels",
        "return FixedGate(d_model)",
        "return FixedGate(1)",
        "models/so_mamba/test_residency.py models/so_mamba/test_variants.py",
    ),
    Mistake(
        "a gate by token does not see its token",
        "full(self.project(self.norm(evidence)))",
        "full(self.project(self.norm(evidence)).mean())",
        "models/so_mamba/test_residency.py",
    ),
    Mistake(
        "the outlet sees nothing",
        "refined = None if self.outlet is None or evidence is None else self.outlet(evidence)",
        "refined = None if self.outlet is None or evidence is None else self.outlet(0 * evidence)",
        "models/so_mamba/test_ownership.py models/so_mamba/test_unit.py",
    ),
    Mistake(
        "the residual of a unit is left out",
        "merged = residual.flatten(0, 2) + self.bias",
        "merged = 0 * residual.flatten(0, 2) + self.bias",
        "models/so_mamba/test_ownership.py",
    ),
    Mistake(
        "content is scanned without a norm",
        "tokenize(self.content_norm(self.content(carrier, evidence)), self.order)",
        "tokenize(self.content(carrier, evidence), self.order)",
        "models/so_mamba/test_ownership.py models/so_mamba/test_unit.py",
    ),
    Mistake(
        "modulation has no bound",
        "interface * (1 + self.scale * torch.tanh(mu)) + self.shift * torch.tanh(nu)",
        "interface * (1 + self.scale * mu) + self.shift * nu",
        "models/so_mamba/test_interface.py",
    ),
    Mistake("modulation is stronger", "scale: float = 0.1", "scale: float = 0.5", "test_defaults.py"),
    Mistake("decay may stop entirely", "A_FLOOR = 1e-4", "A_FLOOR = 0.0", "test_defaults.py"),
    Mistake("the floor of the decay is not applied", "adt=A.clamp(max=-A_FLOOR) * dt", "adt=A * dt", MIXER),
    Mistake(
        "time steps are not positive",
        'dt = F.softplus(parts["dt"] + self.dt_bias)',
        'dt = parts["dt"] + self.dt_bias',
        MIXER,
    ),
    Mistake(
        "the bias of time steps is left out",
        'dt = F.softplus(parts["dt"] + self.dt_bias)',
        'dt = F.softplus(parts["dt"])',
        MIXER,
    ),
    Mistake(
        "B and C are exchanged",
        'B, C = self._interfaces(parts["B"], parts.get("C", parts["B"]), modulation)',
        'C, B = self._interfaces(parts["B"], parts.get("C", parts["B"]), modulation)',
        MIXER,
    ),
    Mistake("the rational decay is linear below zero", "1 / (1 - raw.clamp(max=0))", "1 + raw.clamp(max=0)", MIXER),
    Mistake(
        "columns are tokenized as rows",
        'if order.startswith("columns"):\n        grid = grid.transpose(1, 2)',
        'if order.startswith("columns"):\n        grid = grid',
        "models/so_mamba/test_tokens.py",
    ),
    Mistake(
        "the outlet has no activation of its own",
        "return self.narrow(self.filter(self.widen(evidence)))",
        "return self.narrow(self.widen(evidence))",
        "models/so_mamba/test_outlet.py",
    ),
    Mistake("another patch", 'patch: int = 2\n    """P, side', 'patch: int = 4\n    """P, side', "test_defaults.py"),
    Mistake("another number of heads", "d_head: int = 64", "d_head: int = 32", "test_defaults.py"),
)
