"""A configuration that cannot be built is refused where it is written, in words."""

import subprocess
import sys
from dataclasses import FrozenInstanceError

import pytest

from somamba.errors import ConfigError
from somamba.models.so_mamba.config import InterfaceConfig, MixerConfig, Routes, SOMambaConfig
from somamba.settings import from_plain


def test_the_defaults_are_the_numbers_of_the_paper():
    config = SOMambaConfig()
    assert (config.groups, config.units, config.channels, config.d_model, config.patch) == (6, 2, 192, 96, 2)
    assert (config.mixer.d_state, config.mixer.d_head, config.mixer.rank, config.mixer.groups) == (16, 64, 4, 1)
    assert config.heads == 3
    assert config.routes == Routes(router=True, access=True, outlet=True, residency="none")


def test_a_configuration_cannot_be_changed_in_place():
    with pytest.raises(FrozenInstanceError):
        SOMambaConfig().groups = 3


@pytest.mark.parametrize("name", ["groups", "units", "channels", "patch", "d_model", "coils"])
@pytest.mark.parametrize("value", [0, -2])
def test_sizes_below_one_are_refused(name, value):
    with pytest.raises(ConfigError, match=f"{name}={value} cannot be built"):
        SOMambaConfig(**{name: value})


def test_a_head_that_does_not_divide_the_inner_width_is_refused_with_the_remedy():
    with pytest.raises(ConfigError, match=r"d_head=50 does not divide expand\*d_model=2\*96=192; choose d_head from"):
        SOMambaConfig(mixer=MixerConfig(d_head=50))


def test_groups_that_do_not_divide_the_heads_are_refused():
    with pytest.raises(ConfigError, match=r"mixer.groups=2 does not divide .*choose a divisor of 3"):
        SOMambaConfig(mixer=MixerConfig(groups=2))


def test_odd_channels_are_refused():
    with pytest.raises(ConfigError, match="channels=191 cannot be split into two role pools"):
        SOMambaConfig(channels=191)


def test_a_state_too_small_to_rotate_is_refused():
    with pytest.raises(ConfigError, match="d_state=3 cannot be built; it must be at least 4"):
        SOMambaConfig(mixer=MixerConfig(d_state=3))


def test_no_scan_order_is_refused():
    with pytest.raises(ConfigError, match="scan_orders is empty"):
        SOMambaConfig(scan_orders=())


@pytest.mark.parametrize("consistency", ["auto", "hard", "soft"])
def test_weighted_samples_need_a_proximal_step(consistency):
    with pytest.raises(ConfigError, match=f"choose consistency=proximal, not {consistency}"):
        SOMambaConfig(weighted_samples=True, consistency=consistency)


@pytest.mark.parametrize("switch", ["access", "outlet", "residency"])
def test_routes_of_evidence_without_a_router_are_refused(switch):
    with pytest.raises(ConfigError, match="leaves no evidence stream"):
        Routes(**({"router": False, "access": False, "outlet": False} | {switch: switch != "residency" or "full"}))


def test_a_gate_needs_the_sum():
    with pytest.raises(ConfigError, match=r"residency_mix=concat is for routes\.residency=full"):
        SOMambaConfig(routes=Routes(residency="learned_unit"), residency_mix="concat")


def test_the_old_names_of_the_conjugate_gradients_are_read():
    old = from_plain(SOMambaConfig(), {"gradients": 8, "gradients_tolerance": 1e-2}, source="x")
    assert old == SOMambaConfig(cg_iterations=8, cg_tolerance=1e-2)


@pytest.mark.parametrize(("old", "new"), [(False, "none"), (True, "full"), ("learned_token", "learned_token")])
def test_residency_as_older_versions_wrote_it_is_read(old, new):
    found = from_plain(SOMambaConfig(), {"routes": {"residency": old}}, source="x")
    assert found.routes == Routes(residency=new)


@pytest.mark.parametrize("name", ["d_state", "d_head", "expand", "rank", "groups"])
@pytest.mark.parametrize("value", [0, -1])
def test_sizes_of_the_mixer_below_one_are_refused(name, value):
    with pytest.raises(ConfigError, match=name):
        SOMambaConfig(mixer=MixerConfig(**{name: value}))


@pytest.mark.parametrize(
    ("name", "build"),
    [
        ("hidden", lambda: SOMambaConfig(interface=InterfaceConfig(hidden=-1))),
        ("rope_fraction", lambda: SOMambaConfig(mixer=MixerConfig(rope_fraction=0.3))),
        ("outlet_ratio", lambda: SOMambaConfig(outlet_ratio=-1)),
    ],
)
def test_numbers_that_mean_nothing_are_refused(name, build):
    with pytest.raises(ConfigError, match=name):
        build()


# In a process of its own: the shape checker of these tests would refuse the words before the configuration sees them.
MISSPELT = """
from somamba.errors import SomambaError
from somamba.models.so_mamba.config import InterfaceConfig, MixerConfig, RouterConfig, Routes, SOMambaConfig

attempts = {
    "projection": lambda: SOMambaConfig(router=RouterConfig(projection="dense")),
    "compaction": lambda: SOMambaConfig(router=RouterConfig(compaction="max")),
    "position": lambda: SOMambaConfig(interface=InterfaceConfig(position="middle")),
    "decay": lambda: SOMambaConfig(mixer=MixerConfig(decay="exponential")),
    "output_projection": lambda: SOMambaConfig(output_projection="none"),
    "residency": lambda: SOMambaConfig(routes=Routes(residency="some")),
    "residency_mix": lambda: SOMambaConfig(residency_mix="product"),
    "scan_orders": lambda: SOMambaConfig(scan_orders=("rows", "diagonal")),
    "consistency": lambda: SOMambaConfig(consistency="hrad"),
}
for name, attempt in attempts.items():
    try:
        attempt()
    except SomambaError as error:
        assert name in str(error), error
    else:
        print(name)
"""


def test_a_word_that_is_no_option_is_refused_not_read_as_another():
    ended = subprocess.run([sys.executable, "-c", MISSPELT], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == []
