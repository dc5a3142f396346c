"""Data consistency keeps what was measured, solves what it says it solves, and is exactly differentiable."""

import logging

import pytest
import torch
import torch.nn.functional as F

from native.machine import needs_native
from promises import Looks, complex_normal, dense, relative_error
from somamba.errors import ConfigError, InputError, UnknownNameError
from somamba.physics import conjugate_gradients, consistency
from somamba.physics.coils.maps import root_sum_of_squares
from somamba.physics.conjugate_gradients import CHECK_EVERY
from somamba.physics.consistency import (
    CONSISTENCIES,
    HardConsistency,
    ProximalConsistency,
    SoftConsistency,
    choose_consistency,
    make_consistency,
    project,
    proximal,
    soften,
)
from somamba.physics.encoding import encoding
from somamba.physics.fourier import ifft2c
from somamba.physics.masks import equispaced, golden_radial

MASK = torch.rand(2, 1, 7, 6, generator=torch.Generator().manual_seed(2)) < 0.5
MAPS = complex_normal((2, 3, 7, 6), torch.Generator().manual_seed(1))
MAPS = MAPS / torch.linalg.vector_norm(MAPS, dim=1, keepdim=True)
COILS, SENSE = encoding(MASK), encoding(MASK, MAPS)


def problem(rng, dtype=torch.complex128, n_coils=3):
    """An image to correct, and measurements of another one."""
    return complex_normal((2, 1, 7, 6), rng, dtype), complex_normal((2, n_coils, 7, 6), rng, dtype)


@pytest.mark.parametrize("mask", [equispaced(32, 4), golden_radial((30, 32), 9)], ids=lambda mask: mask.kind)
@pytest.mark.parametrize("n_coils", [1, 4])
def test_projection_leaves_every_measured_sample_as_it_was_measured(mask, n_coils, rng):
    A = encoding(mask.tensor())
    x, truth = (complex_normal((2, n_coils, 30, 32), rng, torch.complex64) for _ in range(2))
    y = A(truth)
    projected = project(x, y, A)
    assert projected.dtype == torch.complex64
    assert (A(projected) - y).abs().max() < 1e-6 * y.abs().max()
    assert (project(projected, y, A) - projected).abs().max() < 1e-6 * projected.abs().max()


def test_projection_changes_nothing_that_was_not_measured(rng):
    x, y = (complex_normal((2, 3, 7, 6), rng) for _ in range(2))
    unmeasured = encoding(~MASK)
    torch.testing.assert_close(unmeasured(project(x, y, COILS)), unmeasured(x))


def test_what_lies_in_y_outside_the_mask_does_not_matter(rng):
    x, y = (complex_normal((2, 3, 7, 6), rng) for _ in range(2))
    spoiled = torch.where(MASK, y, torch.nan)
    assert torch.equal(project(x, spoiled, COILS), project(x, y, COILS))


def test_projection_with_overlapping_coils_is_refused_with_the_remedy(rng):
    x, y = problem(rng)
    with pytest.raises(InputError, match=r"A A\^H A = A, and Sampling\(.*\) @ Fourier @ Coils\(2×3×7×6\).*'proximal'"):
        project(x, y, SENSE)


def test_a_softened_step_goes_the_fraction_of_the_way(rng):
    x, y = (complex_normal((2, 3, 7, 6), rng) for _ in range(2))
    torch.testing.assert_close(soften(x, y, COILS, 0.25), 0.75 * x + 0.25 * project(x, y, COILS))
    assert torch.equal(soften(x, y, COILS, 1), project(x, y, COILS))
    torch.testing.assert_close(soften(x, y, COILS, torch.tensor(1.0)), project(x, y, COILS))


@pytest.mark.parametrize("A", [SENSE, encoding(MASK[:1], MAPS[:1]), encoding(MASK[:1])], ids=repr)
@pytest.mark.parametrize("strength", [0.01, 1])
def test_the_proximal_step_equals_a_dense_solve(A, strength, rng):
    x, y = problem(rng, n_coils=3 if A.partial_isometry is False else 1)
    matrix = dense(A, tuple(x.shape)) if A is SENSE else torch.block_diag(*[dense(A, (1, 1, 7, 6))] * 2)
    system = matrix.mH @ matrix + strength * torch.eye(x.numel(), dtype=torch.float64)
    expected = torch.linalg.solve(system, matrix.mH @ y.flatten() + strength * x.flatten())
    found = proximal(x, y, A, strength, iterations=200, tolerance=1e-12)
    torch.testing.assert_close(found.flatten(), expected, rtol=1e-8, atol=1e-8)


def test_the_proximal_step_is_accurate_in_float32_whatever_the_scale_of_the_data(rng):
    x, y = problem(rng)
    expected = proximal(x, y, SENSE, 0.05, iterations=200, tolerance=1e-12)
    A = encoding(MASK, MAPS.to(torch.complex64))
    for scale in (1e-18, 1, 1e15):
        found = proximal((scale * x).to(torch.complex64), (scale * y).to(torch.complex64), A, 0.05)
        assert found.dtype == torch.complex64
        assert (found / scale - expected).norm() < 3e-6 * expected.norm()


def test_a_consistent_image_comes_back_bit_for_bit(rng):
    A = encoding(MASK, MAPS.to(torch.complex64))
    x, _ = problem(rng, torch.complex64)
    assert torch.equal(proximal(x, A(x), A, 0.1), x)


def test_slices_are_solved_independently_of_their_batch(rng):
    x, y = problem(rng)
    y[1] *= 1e6
    strengths = torch.tensor([0.01, 2.0], dtype=torch.float64).reshape(2, 1, 1, 1)
    together = proximal(x, y, SENSE, strengths)
    for i, strength in enumerate((0.01, 2.0)):
        alone = proximal(x[i : i + 1], y[i : i + 1], encoding(MASK[i : i + 1], MAPS[i : i + 1]), strength)
        torch.testing.assert_close(together[i : i + 1], alone, rtol=1e-12, atol=1e-12)


def test_a_slice_with_nan_does_not_spoil_its_neighbour(rng):
    x, y = problem(rng)
    clean = proximal(x, y, SENSE, 0.1)
    y[0] = torch.nan
    assert torch.isnan(proximal(x, y, SENSE, 0.1)[0]).any()
    torch.testing.assert_close(proximal(x, y, SENSE, 0.1)[1], clean[1])


def test_few_iterations_are_for_training_and_a_step_is_solved_in_use(rng):
    x, y = problem(rng)
    step = ProximalConsistency(iterations=1, tolerance=0.5)
    solved = proximal(x, y, SENSE, F.softplus(step.raw_strength.detach()))
    with torch.no_grad():
        rough, used = step.train()(x, y, SENSE), step.eval()(x, y, SENSE)
    assert (rough - solved).norm() > 1e-2 * solved.norm()
    assert (used - solved).norm() < 1e-3 * solved.norm()


def test_gradients_of_the_proximal_step_are_exact(rng):
    x, y, maps = (value[:1, :2, :3, :2].clone().requires_grad_() for value in (*problem(rng), MAPS))
    strength = torch.tensor(0.2, dtype=torch.float64, requires_grad=True)

    def step(x, y, strength, maps):
        return proximal(x, y, encoding(MASK[:1, :, :3, :2], maps), strength, iterations=100, tolerance=1e-13)

    assert torch.autograd.gradcheck(step, (x, y, strength, maps))


def test_gradients_of_projection_and_softening_are_exact(rng):
    x, y = (complex_normal((2, 1, 3, 2), rng).requires_grad_() for _ in range(2))
    A = encoding(MASK[:, :, :3, :2])
    weight = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, y: project(x, y, A), (x, y))
    assert torch.autograd.gradcheck(lambda x, y, w: soften(x, y, A, w), (x, y, weight))


def test_the_gradient_keeps_no_iterate(rng):
    """The graph behind the result has the same size however many iterations were made."""

    def n_saved(iterations):
        x, y = problem(rng)
        sizes = []
        with torch.autograd.graph.saved_tensors_hooks(lambda t: sizes.append(t.numel()) or t, lambda t: t):
            proximal(x.requires_grad_(), y, SENSE, 0.01, iterations=iterations, tolerance=0)
        return sum(sizes)

    assert n_saved(2) == n_saved(20)


def test_it_agrees_with_bart(bart):
    """Against ``bart pics -S -r 0.001 -i 30 kspu maps pics_l2`` (BART 0.8.00): the same system, as many iterations."""
    A, expected = encoding(bart("mask").real, bart("maps")), bart("pics_l2")
    found = proximal(torch.zeros_like(expected), bart("kspu"), A, 0.001, iterations=30)
    assert (found - expected).norm() < 1e-4 * expected.norm()


def test_it_solves_the_normal_equations_of_a_real_scan(sample):
    """The matrix of the system is written out, column by column, and solved without iterations."""
    kspace = sample[None, :, 104:120, 104:120].to(torch.complex128)
    maps = ifft2c(kspace) / root_sum_of_squares(ifft2c(kspace))
    A = encoding(equispaced(16, 2).tensor(), maps)
    columns = A(torch.eye(256, dtype=torch.complex128).reshape(256, 1, 16, 16)).flatten(1).mT
    y = A.factors[0](kspace)
    matrix = columns.mH @ columns + 0.01 * torch.eye(256)
    expected = torch.linalg.solve(matrix, columns.mH @ y.flatten()).reshape(1, 1, 16, 16)
    found = proximal(torch.zeros_like(expected), y, A, 0.01, iterations=500, tolerance=1e-12)
    assert (found - expected).norm() < 1e-9 * expected.norm()


@needs_native
@pytest.mark.parametrize("width", [12, 37], ids=["compiled", "a width of a large prime"])
def test_whole_columns_are_solved_in_single_precision_as_in_double(width, rng):
    mask = equispaced(width, 3).tensor()
    maps = complex_normal((2, 3, 7, width), rng)
    x, y = complex_normal((2, 1, 7, width), rng), complex_normal((2, 3, 7, width), rng)
    results = []
    for dtype in (torch.complex64, torch.complex128):
        leaves = [tensor.to(dtype).requires_grad_() for tensor in (x, y, maps)]
        strength = torch.full((2, 1, 1, 1), 0.2, dtype=dtype.to_real(), requires_grad=True)
        found = proximal(*leaves[:2], encoding(mask, leaves[2]), strength, iterations=200, tolerance=1e-7)
        found.abs().square().sum().backward()
        results.append([found.detach(), *(leaf.grad for leaf in leaves), strength.grad])
    assert all(relative_error(single, double) < 1e-4 for single, double in zip(*results, strict=True))


@needs_native
def test_gradients_through_the_kernels_are_those_of_double_precision(rng):
    mask, maps = equispaced(12, 3).tensor(), complex_normal((2, 3, 7, 12), rng)
    x, y = complex_normal((2, 1, 7, 12), rng), complex_normal((2, 3, 7, 12), rng)
    results = []
    for dtype in (torch.complex64, torch.complex128):
        leaves = [tensor.to(dtype).requires_grad_() for tensor in (x, y)]
        found = proximal(*leaves, encoding(mask, maps.to(dtype)), 0.2, iterations=200, tolerance=1e-7)
        found.abs().square().sum().backward()
        results.append([found.detach(), *(leaf.grad for leaf in leaves)])
    assert all(relative_error(single, double) < 1e-5 for single, double in zip(*results, strict=True))


@needs_native
def test_it_is_the_kernels_that_apply_whole_columns_on_both_ways(rng, monkeypatch):
    x, y = (complex_normal((1, count, 7, 12), rng, torch.complex64) for count in (1, 3))
    A = encoding(equispaced(12, 3).tensor(), complex_normal((1, 3, 7, 12), rng, torch.complex64))
    system = conjugate_gradients.NormalEquations(A, torch.tensor(0.1), 10, 1e-6)
    as_written = system.right(x, y)
    monkeypatch.setattr("somamba.physics.encoding.fft2c", None)  # the image does not go to k-space
    right = system.right(x.requires_grad_(), y)
    assert relative_error(right.detach(), as_written) < 1e-5
    right.backward(gradient := complex_normal(x.shape, rng, torch.complex64))
    assert relative_error(x.grad, -A.gram(gradient)) < 1e-5


@needs_native
@pytest.mark.parametrize("changed", ["measurements", "maps", "operator", "other measurements"])
def test_the_image_of_the_measurements_follows_every_change(changed, rng):
    x, y = (complex_normal((1, count, 7, 12), rng, torch.complex64) for count in (1, 3))
    mask, maps = equispaced(12, 3).tensor(), complex_normal((1, 3, 7, 12), rng, torch.complex64)
    A = encoding(mask, maps)

    def right():
        system = conjugate_gradients.NormalEquations(A, torch.tensor(0.1), 10, 1e-6)
        return system.right(x.clone().requires_grad_(), y).detach(), system.right(x, y)

    before, _ = right()
    assert torch.equal(before, right()[0])
    if changed == "measurements":
        y *= 2
    elif changed == "maps":
        maps *= 2
    elif changed == "operator":
        A = encoding(mask.roll(1), maps)
    else:
        y = 2 * y
    found, as_written = right()
    assert relative_error(found, as_written) < 1e-5
    assert relative_error(found, before) > 0.1


@needs_native
def test_it_is_the_compiled_loop_that_solves_whole_columns(rng, monkeypatch):
    x, y = (complex_normal((1, count, 7, 12), rng, torch.complex64) for count in (1, 3))
    A = encoding(equispaced(12, 3).tensor(), complex_normal((1, 3, 7, 12), rng, torch.complex64))
    found = proximal(x, y, A, 0.1)
    monkeypatch.setattr(conjugate_gradients, "_solve", None)
    assert torch.equal(proximal(x, y, A, 0.1), found)
    monkeypatch.undo()
    monkeypatch.setattr(conjugate_gradients, "LineSolver", None)
    monkeypatch.setattr(conjugate_gradients, "why_not", lambda: "a test hides them")
    assert relative_error(proximal(x, y, A, 0.1), found) < 1e-4


def test_stopping_before_the_tolerance_is_logged(rng, caplog):
    x, y = problem(rng)
    with caplog.at_level(logging.INFO, logger="somamba.physics.conjugate_gradients"):
        proximal(x, y, SENSE, 0.1)
        assert not caplog.records
        proximal(x, y, SENSE, 0.1, iterations=1)
    assert "stopped after 1 iterations" in caplog.text


@pytest.mark.parametrize("strength", [0, -1.0, float("nan"), torch.tensor([0.1, 0.0]).reshape(2, 1, 1, 1)])
def test_a_strength_that_is_not_positive_is_refused(strength, rng):
    with pytest.raises(InputError, match="strength must be positive"):
        proximal(*problem(rng), SENSE, strength)


@pytest.fixture
def looks(monkeypatch):
    """Run the branch for a GPU, which works through a queue, on the CPU; count looks at its numbers."""
    for module in (consistency, conjugate_gradients):
        monkeypatch.setattr(module, "runs_ahead", lambda _device: True)
    return Looks()


def test_the_tolerance_is_looked_at_every_few_iterations(rng, looks):
    x, y = problem(rng)
    with looks:
        proximal(x, y, SENSE, 0.1, iterations=2 * CHECK_EVERY + 1, tolerance=0)
    assert looks.count == 3


@pytest.mark.usefixtures("looks")
def test_iterations_after_the_goal_change_nothing(rng, monkeypatch):
    x, y = problem(rng)
    late = proximal(x, y, SENSE, 0.1, tolerance=1e-3)
    monkeypatch.undo()
    assert torch.equal(proximal(x, y, SENSE, 0.1, tolerance=1e-3), late)


def test_a_strength_nobody_looked_at_gives_nan_and_no_image(rng, looks):
    with looks:
        found = proximal(*problem(rng), SENSE, torch.tensor([0.1, 0.0]).reshape(2, 1, 1, 1), iterations=1)
    assert looks.count == 1
    assert found[0].isfinite().all()
    assert found[1].isnan().any()


@pytest.mark.parametrize("name", CONSISTENCIES)
def test_autocast_does_not_change_a_bit(name, rng):
    step = CONSISTENCIES[name]()
    A = encoding(MASK) if name in ("hard", "soft") else encoding(MASK, MAPS.to(torch.complex64))
    x, y = problem(rng, torch.complex64, n_coils=1 if name in ("hard", "soft") else 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = step(x, y, A)
    assert inside.dtype == torch.complex64
    assert torch.equal(inside, step(x, y, A))


@pytest.mark.parametrize("name", CONSISTENCIES)
def test_every_parameter_gets_a_gradient_from_single_coil_data(name, rng):
    """A parameter that some data never reach would stop distributed training."""
    step = CONSISTENCIES[name]()
    x, y = problem(rng, n_coils=1)
    step(x.requires_grad_(), y, COILS).abs().sum().backward()
    assert all(parameter.grad is not None and parameter.grad != 0 for parameter in step.parameters())
    assert sum(1 for _ in step.parameters()) == {"auto": 0, "hard": 0, "soft": 1, "proximal": 1}[name]


def test_modules_apply_the_functions_they_are_named_after(rng):
    x, y = problem(rng, n_coils=1)
    torch.testing.assert_close(HardConsistency()(x, y, COILS), project(x, y, COILS))
    torch.testing.assert_close(SoftConsistency(0.7)(x, y, COILS), soften(x, y, COILS, 0.7), rtol=1e-6, atol=1e-6)
    x, y = problem(rng)
    found = ProximalConsistency(0.3, iterations=100)(x, y, SENSE)
    torch.testing.assert_close(found, proximal(x, y, SENSE, 0.3, iterations=100), rtol=1e-6, atol=1e-6)


def test_auto_is_hard_where_that_is_exact_and_proximal_elsewhere(rng):
    assert choose_consistency("auto", COILS) == "hard"
    assert choose_consistency("auto", SENSE) == "proximal"
    auto = CONSISTENCIES["auto"]()
    x, y = problem(rng, n_coils=1)
    assert torch.equal(auto(x, y, COILS), project(x, y, COILS))
    x, y = problem(rng)
    assert torch.equal(auto(x, y, SENSE), ProximalConsistency()(x, y, SENSE))


def test_auto_has_the_same_state_whatever_data_it_saw():
    assert not CONSISTENCIES["auto"]().state_dict()


@pytest.mark.parametrize("name", ["hard", "soft", "proximal"])
def test_a_named_consistency_is_taken_at_its_word(name):
    assert choose_consistency(name, COILS) == name


def test_what_cannot_be_is_refused():
    with pytest.raises(InputError, match="'proximal'"):
        choose_consistency("hard", SENSE)
    with pytest.raises(UnknownNameError, match="Did you mean 'proximal'"):
        choose_consistency("proximate", SENSE)
    with pytest.raises(ConfigError, match="weight=1 must lie between"):
        SoftConsistency(1)
    with pytest.raises(ConfigError, match="strength=0 must be positive"):
        ProximalConsistency(0)


@pytest.mark.parametrize("name", CONSISTENCIES)
def test_a_step_is_made_by_name_and_stops_as_told(name):
    step = make_consistency(name, iterations=3, tolerance=0.5)
    assert type(step) is CONSISTENCIES[name]
    solvers = [part for part in step.modules() if isinstance(part, ProximalConsistency)]
    assert all((solver.iterations, solver.tolerance) == (3, 0.5) for solver in solvers)
    assert bool(solvers) == (name in ("auto", "proximal"))
