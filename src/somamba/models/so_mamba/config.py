"""Everything that defines an SO-Mamba network, and nothing else.

If the paper is silent, a field holds our decision; ``docs/decisions/`` has a page for each, with the evidence.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from somamba.errors import ConfigError
from somamba.options import check_at_least, check_words

Residency = Literal["none", "full", "learned_channel", "learned_token", "learned_unit"]


@dataclass(frozen=True, kw_only=True)
class Routes:
    """The ways that the evidence stream G may go (the columns of the ownership ablation)."""

    OLD_VALUES: ClassVar[Mapping[str, Mapping[Any, str]]] = {"residency": {False: "none", True: "full"}}

    router: bool = True
    """Split features into carrier L and evidence G. Without it there is no G: a plain Mamba regularizer."""
    access: bool = True
    """G modulates the B and C interfaces of the scan."""
    outlet: bool = True
    """G reaches the output through the non-state refinement block."""
    residency: Residency = "none"
    """How much of G also feeds the content tokens: ``none`` is the paper's contract and ``full`` the ablation that
    breaks it. The learned gates start at zero, where they are ``none``: one for each channel of G, one for each token
    (a linear function of the normed G at that token), or one for the unit."""

    def __post_init__(self) -> None:
        check_words(self)
        if not self.router and self.evidence:
            raise ConfigError(
                "routes.router=false leaves no evidence stream to route; set routes.access and routes.outlet to false "
                "and routes.residency to none as well."
            )

    @property
    def evidence(self) -> bool:
        """Whether any route is open to G."""
        return any(self.is_open(name) for name in ("access", "outlet", "residency"))

    def is_open(self, name: str) -> bool:
        """Tell whether a route is open; a learned residency is."""
        return getattr(self, name) not in (False, "none")


@dataclass(frozen=True, kw_only=True)
class RouterConfig:
    """SOR: how the two streams are made."""

    projection: Literal["depthwise", "pointwise"] = "depthwise"
    """phi_car and phi_nr: depthwise 3x3, GELU, 1x1; or the 1x1 alone."""
    compaction: Literal["average", "stride"] = "average"
    """Down2: 2x2 average, or every second sample (which shifts L by half a pixel)."""

    def __post_init__(self) -> None:
        check_words(self)


@dataclass(frozen=True, kw_only=True)
class InterfaceConfig:
    """How G modulates B and C."""

    hidden: int = 24
    """Width of the hidden layer of P; 0 is a single linear layer."""
    scale: float = 0.1
    """alpha_mu, the strength of the multiplicative modulation."""
    shift: float = 0.1
    """alpha_nu, the strength of the additive modulation."""
    learned_strengths: bool = False
    """Learn the two strengths, starting from the values above."""
    position: Literal["after_norm", "before_norm"] = "after_norm"
    """Modulate B and C after their RMS norm (and before bias and rotation), or before it."""

    def __post_init__(self) -> None:
        check_words(self)
        check_at_least(self, hidden=0)


@dataclass(frozen=True, kw_only=True)
class MixerConfig:
    """The Mamba-3 MIMO mixer."""

    d_state: int = 16
    """n, the state size."""
    d_head: int = 64
    """p, the width of a head; divides ``expand * d_model``."""
    expand: int = 2
    """Inner width, in multiples of the width of the content tokens."""
    rank: int = 4
    """The rank of the MIMO scan."""
    groups: int = 1
    """Sets of heads that share B and C."""
    rope_fraction: float = 0.5
    """Share of the state that is rotated: 0.5 or 1."""
    decay: Literal["rational", "softplus"] = "rational"
    """A = -f(v): f(v) = 1 + v for v >= 0 and 1 / (1 - v) below, or softplus."""
    tie_decay: bool = False
    """One projection feeds A and dt (a parameter-tying check of the leakage table)."""
    tie_interfaces: bool = False
    """One projection feeds B and C (likewise)."""
    backend: str = "auto"
    """Scan backend: auto, triton, fused, native, compiled, chunked or reference."""

    def __post_init__(self) -> None:
        check_words(self)
        check_at_least(self, d_state=4, d_head=1, expand=1, rank=1, groups=1)
        if self.rope_fraction not in (0.5, 1):
            raise ConfigError(f"rope_fraction={self.rope_fraction} is unknown to the kernels; use 0.5 or 1.")


@dataclass(frozen=True, kw_only=True)
class SOMambaConfig:
    """SO-Mamba. The defaults are the paper's network: 1.81 M parameters, 45.5 G module MACs at 320x320."""

    OLD_NAMES: ClassVar[Mapping[str, str]] = {"gradients": "cg_iterations", "gradients_tolerance": "cg_tolerance"}

    groups: int = 6
    """Unrolled stages with their own weights; each ends with data consistency."""
    units: int = 2
    """SO-Mamba units in one group."""
    channels: int = 192
    """C, feature channels; half of them go to each role pool."""
    patch: int = 2
    """P, side of the image patch that becomes one token."""
    d_model: int = 96
    """Width of the streams L and G and of the content tokens."""
    coils: int = 1
    """Image channels in coil-channel mode: the number of coils; 1 for single-coil and SENSE."""
    routes: Routes = field(default_factory=Routes)
    """Switches of the ownership contract."""
    router: RouterConfig = field(default_factory=RouterConfig)
    """How the router splits features into carrier and evidence."""
    interface: InterfaceConfig = field(default_factory=InterfaceConfig)
    """The modulation of the state interfaces."""
    mixer: MixerConfig = field(default_factory=MixerConfig)
    """Sizes and backend of the Mamba-3 mixer."""
    outlet_ratio: int = 0
    """NSR: 0 is depthwise 3x3, GELU, 1x1; k > 0 an inverted bottleneck k times as wide."""
    output_projection: Literal["merged", "separate"] = "merged"
    """W_o takes the 192-wide read-out itself, or Mamba's own output projection comes first."""
    residency_mix: Literal["sum", "concat"] = "sum"
    """How all of G enters the content with ``routes.residency: full``: L + G, or a 1x1 of both."""
    scan_orders: tuple[Literal["rows", "rows_reversed", "columns", "columns_reversed"], ...] = ("rows",)
    """Order of the tokens; unit i of a group takes entry i, again from the first when they run out."""
    carry_features: bool = False
    """Hand features from group to group besides the image."""
    consistency: Literal["auto", "hard", "soft", "proximal"] = "auto"
    """Data consistency after each group; auto is hard without sensitivity maps and proximal with them."""
    cg_iterations: int = 100
    """The most iterations of conjugate gradients of one proximal data consistency while training; in use
    a step is solved, see `ProximalConsistency`."""
    cg_tolerance: float = 1e-6
    """The iterations stop earlier at this residual, relative to the first."""
    weighted_samples: bool = False
    """Weigh the samples in data consistency by a learned function of their distance from the centre, their density and
    the acceleration, at first alike; needs ``consistency: proximal``."""
    recompute: bool = False
    """Recompute the activations of each unit in the backward pass: less memory, a little more time."""

    def __post_init__(self) -> None:
        check_words(self)
        check_at_least(self, groups=1, units=1, channels=2, patch=1, d_model=1, coils=1)
        check_at_least(self, outlet_ratio=0, cg_iterations=1)
        inner = self.mixer.expand * self.d_model
        if inner % self.mixer.d_head:
            raise ConfigError(
                f"mixer.d_head={self.mixer.d_head} does not divide expand*d_model={self.mixer.expand}*{self.d_model}"
                f"={inner}; choose d_head from the divisors of {inner}."
            )
        if self.heads % self.mixer.groups:
            raise ConfigError(
                f"mixer.groups={self.mixer.groups} does not divide the heads; choose a divisor of {self.heads}."
            )
        if self.channels % 2:
            raise ConfigError(f"channels={self.channels} cannot be split into two role pools; choose an even number.")
        if self.residency_mix == "concat" and self.routes.residency.startswith("learned"):
            raise ConfigError(
                f"residency_mix=concat is for routes.residency=full; a gate ({self.routes.residency}) weighs the G of "
                "the sum. Choose residency_mix=sum."
            )
        if self.weighted_samples and self.consistency != "proximal":
            raise ConfigError(
                f"weighted_samples changes a proximal step; choose consistency=proximal, not {self.consistency}."
            )
        if not self.scan_orders:
            raise ConfigError("scan_orders is empty; name at least one order, for example ('rows',).")

    @property
    def heads(self) -> int:
        """Number of heads of the mixer."""
        return self.mixer.expand * self.d_model // self.mixer.d_head
