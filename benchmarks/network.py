"""Time SO-Mamba, as ratios to what its module MACs would take at the machine's own matrix-product rate.

python benchmarks/network.py [--size 320] [--threads 2] [--rounds 5] [--compact] [--train] [--bfloat16] [--profile]
                             [--processor]

``ratio`` is the time of one inference divided by (2 * module MACs / rate of a 2048^3 product) measured in the same run.
``--processor`` counts seconds of the processor instead of those on the clock, for one thread on a busy machine.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace

import torch
from timing import gemm_task

from somamba.evaluation.cost.counted import measure_cost
from somamba.evaluation.cost.measured import awake, random_measurement
from somamba.evaluation.cost.memory import added_megabytes, in_child
from somamba.evaluation.cost.timing import alternate
from somamba.models.base import Reconstructor
from somamba.models.so_mamba.config import MixerConfig, SOMambaConfig
from somamba.models.so_mamba.model import SOMamba


def network(backend: str = "auto", *, recompute: bool = False, compact: bool = False) -> SOMamba:
    """SO-Mamba with all weights away from zero, so that nothing is skipped or trivially exact.

    Args:
        backend: The scan of its layers.
        recompute: Whether activations are computed twice in training.
        compact: Whether it is the network of ``recipes/brain_raw.yaml``, else that of the paper.
    """
    torch.manual_seed(0)
    config = replace(SOMambaConfig(recompute=recompute), mixer=MixerConfig(backend=backend))
    if compact:
        mixer = MixerConfig(backend=backend, d_head=32)
        config = replace(config, groups=4, channels=96, d_model=48, mixer=mixer)
    return awake(SOMamba(config))


def inference(model: Reconstructor, size: int, *, bfloat16: bool = False) -> Callable[[], torch.Tensor]:
    """One reconstruction."""
    y, A = random_measurement((size, size))

    def task() -> torch.Tensor:
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
            return model.eval()(y, A)

    return task


def training(model: SOMamba, size: int) -> Callable[[], object]:
    """One forward and backward pass."""
    y, A = random_measurement((size, size))

    def task() -> None:
        model.train().zero_grad()
        model(y, A).abs().mean().backward()

    return task


def peak_megabytes(what: str, options: argparse.Namespace) -> float:
    """Memory that a task adds to a fresh process, which peaks once and cannot be asked twice."""
    code = f"import network; print(network.memory_of({what!r}, {options.size}, compact={options.compact}))"
    return in_child(code, options.threads)


def memory_of(what: str, size: int, *, compact: bool = False) -> float:
    """What a task adds to this process."""
    model = network(recompute=what == "recomputed training", compact=compact)
    inference(model, 32)()  # libraries load what they need
    return added_megabytes((inference if what == "inference" else training)(model, size))


def main() -> None:
    """Parse, time, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=320)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--compact", action="store_true", help="the network of recipes/brain_raw.yaml")
    parser.add_argument("--train", action="store_true", help="also time training steps, with and without recomputation")
    parser.add_argument("--bfloat16", action="store_true", help="also run under bfloat16 autocast")
    parser.add_argument("--profile", action="store_true", help="also print where the time of one inference goes")
    parser.add_argument("--processor", action="store_true", help="seconds of the processor, for one thread")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    model = network(compact=options.compact)
    tasks: dict[str, Callable[[], object]] = {"gemm": gemm_task()}
    tasks["inference"] = inference(model, options.size)
    tasks["inference, chunked scan"] = inference(network("chunked", compact=options.compact), options.size)
    if options.bfloat16:
        tasks["inference, bfloat16"] = inference(model, options.size, bfloat16=True)
    if options.train:
        tasks["training"] = training(network(compact=options.compact), options.size)
        tasks["recomputed training"] = training(network(recompute=True, compact=options.compact), options.size)
    best = alternate(tasks, options.rounds, clock=time.process_time if options.processor else time.perf_counter)

    rate = 2 * 2048**3 / best.pop("gemm")
    ideal = 2 * measure_cost(model, (options.size, options.size)).module / rate
    print(f"{options.size}x{options.size}, {options.threads} threads, best of {options.rounds}")
    print(f"matrix product 2048^3: {rate / 1e9:.0f} GFLOP/s; the module MACs at that rate: {ideal:.3f} s")
    for name, seconds in best.items():
        print(f"{name:28}{seconds:9.3f} s   ratio {seconds / ideal:5.2f}")
    if options.bfloat16:
        exact = inference(model, options.size)()
        error = (inference(model, options.size, bfloat16=True)() - exact).abs().max() / exact.abs().max()
        print(f"bfloat16: {best['inference'] / best['inference, bfloat16']:.2f} times the speed, error {error:.1e}")
    for what in ["inference"] + (["training", "recomputed training"] if options.train else []):
        print(f"memory added by {what}: {peak_megabytes(what, options):.0f} MB")
    if options.profile:
        with torch.profiler.profile() as profile:
            tasks["inference"]()
        print(profile.key_averages().table(sort_by="self_cpu_time_total", row_limit=15, max_name_column_width=32))


if __name__ == "__main__":
    main()
