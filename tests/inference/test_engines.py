"""A real Ray cluster of two machines, both of them here: scans are spread, and the loss of a machine loses no scan."""

import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from typing_extensions import override

import somamba
from inference.checkpoints import save_tiny
from raw.made import coil_kspace, write_fastmri
from somamba.errors import BackendError, ConfigError, MissingExtraError
from somamba.inference.engines import ENGINES, spread
from somamba.inference.jobs import ReconstructionRequest, Worker, WorkerFactory
from somamba.inference.plan import plan

STORE = 80 << 20
"""Bytes of shared memory for each machine: the least that Ray takes. Nothing large goes over the network."""

PATIENCE_SECONDS = 120


@pytest.fixture(scope="module")
def ray():
    """Ray, and afterwards the environment as it was."""
    found = pytest.importorskip("ray", reason="ray is not installed: pip install 'somamba[cluster]'")
    before = dict(os.environ)
    # The machines of the cluster are processes of their own, and have to find this package and this test.
    search = os.pathsep.join([str(Path(somamba.__file__).parents[1]), str(Path(__file__).parents[1])])
    os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO="0", PYTHONPATH=search)
    yield found
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="module")
def cluster(ray):
    """Two machines with one processor each; this process is connected to the first."""
    from ray.cluster_utils import Cluster

    arguments = {"num_cpus": 1, "object_store_memory": STORE, "include_dashboard": False}
    both = Cluster(initialize_head=True, head_node_args=arguments)
    both.second = both.add_node(num_cpus=1, object_store_memory=STORE)
    ray.init(address=both.address, log_to_driver=False, logging_level="WARNING")
    yield both
    ray.shutdown()
    both.shutdown()


def scans(folder, count):
    for number in range(count):
        write_fastmri(folder / f"{number}.h5", kspace=(number + 1) * coil_kspace()[None])
    return [str(folder / f"{number}.h5") for number in range(count)]


def silent(*_):
    pass


@dataclass(frozen=True, kw_only=True)
class Watched(WorkerFactory):
    """Notes the machine it works on. Work on the one that is to be lost never ends, and the other one waits for it."""

    notes: Path
    doomed: str

    @override
    def __call__(self) -> Worker:
        import ray

        machine = ray.get_runtime_context().get_node_id()
        (self.notes / f"{machine}-{time.time_ns()}").touch()
        if machine == self.doomed:
            threading.Event().wait()
        self.await_doom()
        return super().__call__()

    def await_doom(self) -> None:
        """Until the doomed machine has begun a scan."""
        patience = time.monotonic() + PATIENCE_SECONDS
        while self.doomed not in self.machines():
            if time.monotonic() > patience:
                raise TimeoutError("the second machine was given nothing to do")
            time.sleep(0.1)

    def machines(self) -> list[str]:
        """Where work began, once for every attempt."""
        return [path.name.split("-")[0] for path in self.notes.iterdir()]


@pytest.fixture
def notes(tmp_path):
    (tmp_path / "notes").mkdir()
    return tmp_path / "notes"


@pytest.mark.usefixtures("cluster")
def test_paths_and_weights_are_found_from_any_machine(tmp_path, monkeypatch):
    """Relative paths mean the folder of this process; a bad file is one failure, told like anywhere else."""
    scans(tmp_path, 2)
    (tmp_path / "bad.h5").write_bytes(b"no HDF5")
    save_tiny(tmp_path / "weights")
    monkeypatch.chdir(tmp_path)
    jobs = plan(["0.h5", "1.h5", "bad.h5"], Path("out"), ["h5"])
    told = []
    factory = WorkerFactory(request=ReconstructionRequest(weights="weights"))
    outcomes = list(spread(jobs, factory, lambda job, done, slices: told.append((job.source.name, done, slices))))
    assert {outcome.job.source.name: outcome.state for outcome in outcomes} == {
        "0.h5": "done",
        "1.h5": "done",
        "bad.h5": "failed",
    }
    assert {outcome.job for outcome in outcomes} == set(jobs)
    assert "damaged or not what its name says" in next(o.reason for o in outcomes if o.state == "failed")
    assert sorted(path.name for path in Path("out").iterdir()) == ["0.h5", "1.h5"]
    assert sorted(told) == [("0.h5", 1, 1), ("1.h5", 1, 1), ("bad.h5", 0, 0)]
    again = list(spread(jobs[:2], factory, silent))
    assert [outcome.state for outcome in again] == ["there", "there"]


@pytest.mark.usefixtures("cluster")
def test_weights_that_no_machine_can_open_fail_every_scan_with_the_reason(tmp_path):
    jobs = plan(scans(tmp_path, 1), tmp_path / "out")
    (outcome,) = spread(jobs, WorkerFactory(request=ReconstructionRequest(weights="unet")), silent)
    assert outcome.state == "failed"
    assert "has weights to learn" in outcome.reason


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    ("factory", "words"),
    [
        (
            WorkerFactory(request=ReconstructionRequest(), threads=64),
            "64 threads, but no machine of the Ray cluster offers more than 1 CPUs",
        ),
        (WorkerFactory(request=ReconstructionRequest(), device="cuda"), "no machine of the Ray cluster offers a GPU"),
    ],
)
def test_what_no_machine_offers_is_refused_instead_of_waited_for(factory, words, tmp_path):
    with pytest.raises(ConfigError, match=words):
        list(spread(plan(scans(tmp_path, 1), tmp_path / "out"), factory, silent))


def test_the_loss_of_a_machine_at_work_loses_no_scan(cluster, notes, tmp_path):
    doomed = cluster.second.node_id
    factory = Watched(request=ReconstructionRequest(weights="zero_filled"), notes=notes, doomed=doomed)
    jobs = plan(scans(tmp_path, 4), tmp_path / "out", ["npy"])

    def lose() -> None:
        factory.await_doom()
        cluster.remove_node(cluster.second, allow_graceful=False)

    fate = threading.Thread(target=lose, daemon=True)
    fate.start()
    outcomes = list(spread(jobs, factory, silent))
    fate.join()
    assert [(outcome.state, outcome.reason) for outcome in outcomes] == [("done", "")] * 4
    assert {outcome.job for outcome in outcomes} == set(jobs)
    # One scan was begun where it was lost, and all of them elsewhere.
    assert factory.machines().count(doomed) == 1
    assert len(factory.machines()) == 5
    images = [np.load(job.outputs[0].path, allow_pickle=False) for job in jobs]
    for number, image in enumerate(images, start=1):
        np.testing.assert_allclose(image, number * images[0], rtol=1e-5, atol=1e-6)


def test_without_ray_the_error_says_how_to_install_it(monkeypatch, tmp_path):
    monkeypatch.setattr("somamba.extras.installed", lambda module: module != "ray")
    jobs = plan(scans(tmp_path, 1), tmp_path / "out")
    with pytest.raises(MissingExtraError, match=r"pip install 'somamba\[cluster\]'"):
        next(ENGINES["ray"](jobs, WorkerFactory(request=ReconstructionRequest()), silent))


@pytest.mark.parametrize("address", ["no port", "127.0.0.1:1"])
def test_an_address_without_a_cluster_is_said(address, ray, monkeypatch, tmp_path):
    if ray.is_initialized():
        ray.shutdown()
    monkeypatch.setenv("RAY_ADDRESS", address)
    jobs = plan(scans(tmp_path, 1), tmp_path / "out")
    with pytest.raises(BackendError, match="Start one with 'ray start --head'"):
        next(spread(jobs, WorkerFactory(request=ReconstructionRequest()), silent))


def test_a_cluster_that_starts_too_slowly_is_said(ray, monkeypatch, tmp_path):
    def too_slow(**_settings):
        raise Exception("The current node timed out during startup.")  # Ray raises this very class.

    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", too_slow)
    jobs = plan(scans(tmp_path, 1), tmp_path / "out")
    with pytest.raises(BackendError, match="timed out during startup"):
        next(spread(jobs, WorkerFactory(request=ReconstructionRequest()), silent))
