"""Prepared slices are made once, appear whole or not at all, and follow every change of recipe or source."""

import json
import multiprocessing
import os
import resource
from dataclasses import replace

import numpy as np
import pytest

from somamba.data import cache
from somamba.data.cache import prepared_case
from somamba.data.case import LeftOut
from somamba.data.catalog import split_entries
from somamba.data.config import DataConfig
from somamba.data.phantom import write_phantom
from somamba.data.prepare import prepare
from somamba.errors import DataError, StorageError
from somamba.files import sandbox


@pytest.fixture
def config(tmp_path):
    write_phantom("acdc", tmp_path / "acdc", cases={"train": 2})
    return DataConfig(path=str(tmp_path / "acdc"), cache=str(tmp_path / "cache"), size=(16, 16))


@pytest.fixture
def entry(config):
    return split_entries("acdc", config.root, "train")[0]


def stored(config):
    return sorted(path.name for path in (cache.cache_folder(config) / config.dataset).iterdir())


def no_reading(*_):
    raise AssertionError("a source file was opened")


def test_slices_come_back_as_they_were_prepared(config, entry):
    ready = prepared_case(entry, config)
    direct = prepare(config.entry.open_case(entry), config)
    np.testing.assert_array_equal(np.stack([ready[i] for i in range(4)]), direct.array)
    assert ready.slices == direct.slices


def test_the_second_time_no_source_is_opened(config, entry, monkeypatch):
    first = prepared_case(entry, config)
    monkeypatch.setattr(sandbox.Sandbox, "ask", no_reading)
    assert prepared_case(entry, config) == first


def test_slices_are_mapped_and_not_loaded(config, entry):
    assert isinstance(cache._mapped(prepared_case(entry, config).path), np.memmap)


def test_another_recipe_gets_slices_of_its_own(config, entry):
    one, other = prepared_case(entry, config), prepared_case(entry, replace(config, size=(20, 20)))
    assert one.path != other.path
    assert (one.shape, other.shape) == ((4, 16, 16), (4, 20, 20))


def test_a_changed_source_is_prepared_anew(config, entry):
    first = prepared_case(entry, config)
    os.utime(entry.files[1], ns=(1, 1))
    assert prepared_case(entry, config).path != first.path


def test_a_moved_dataset_keeps_its_prepared_slices(config, entry, monkeypatch):
    first = prepared_case(entry, config)
    moved = config.root.rename(config.root.with_name("elsewhere"))
    monkeypatch.setattr(sandbox.Sandbox, "ask", no_reading)
    assert prepared_case(split_entries("acdc", moved, "train")[0], config) == first


def flipped(content):
    """One bit of the last value is wrong."""
    return content[:-2] + bytes([content[-2] ^ 1]) + content[-1:]


def other_slices(content):
    return content.replace(b'"slices": [\n  0,', b'"slices": [\n  9,')


@pytest.mark.parametrize(
    "damage", [lambda content: content[: len(content) // 2], lambda _: b"", lambda c: b"x" + c, flipped]
)
@pytest.mark.parametrize("suffix", [".npy", ".json"])
def test_damaged_slices_are_prepared_again_and_said(config, entry, damage, suffix, caplog):
    first = prepared_case(entry, config)
    path = first.path.with_suffix(suffix)
    sound = path.read_bytes()
    path.write_bytes(damage(sound))
    assert prepared_case(entry, config) == first
    assert path.read_bytes() == sound
    assert f"{first.path} are damaged" in caplog.text


def test_a_manifest_that_names_other_slices_is_damaged(config, entry, caplog):
    first = prepared_case(entry, config)
    manifest = first.path.with_suffix(".json")
    sound = manifest.read_bytes()
    manifest.write_bytes(other_slices(sound))
    assert manifest.read_bytes() != sound
    assert prepared_case(entry, config) == first
    assert "does not have its own digest" in caplog.text


def test_slices_are_compared_with_their_digest_once_per_process(config, entry, monkeypatch):
    first = prepared_case(entry, config)
    assert prepared_case(entry, config) == first
    monkeypatch.setattr(cache, "open_regular", no_reading)
    assert prepared_case(entry, config) == first


def test_slices_without_a_digest_are_prepared_again(config, entry, caplog):
    first = prepared_case(entry, config)
    manifest = first.path.with_suffix(".json")
    facts = json.loads(manifest.read_bytes())
    del facts["sha256"]
    manifest.write_text(json.dumps(facts))
    assert prepared_case(entry, config) == first
    assert "sha256" in json.loads(manifest.read_bytes())
    assert not caplog.text


def test_the_manifest_records_recipe_and_sources(config, entry):
    manifest = json.loads(prepared_case(entry, config).path.with_suffix(".json").read_text())
    assert manifest["recipe"]["dataset"] == "acdc"
    assert manifest["recipe"]["sources"][0][0] == "training/patient002/Info.cfg"


def test_cases_that_are_left_out_are_remembered_as_such(tmp_path, monkeypatch):
    write_phantom("fastmri", tmp_path, cases={"train": 1})
    config = DataConfig(dataset="fastmri", path=str(tmp_path), cache=str(tmp_path / "cache"))
    entry = next(e for e in config.entry.find(tmp_path).entries if e.id == "file1090000")
    first = prepared_case(entry, config)
    monkeypatch.setattr(sandbox.Sandbox, "ask", no_reading)
    assert isinstance(first, LeftOut)
    assert prepared_case(entry, config) == first


def _prepare_all(config, results):
    cases = [prepared_case(entry, config) for entry in split_entries("acdc", config.root, "train")]
    results.put([(case.id, case.path.read_bytes()) for case in cases])


def test_several_processes_may_prepare_the_same_cases_at_once(config):
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    workers = [context.Process(target=_prepare_all, args=(config, results)) for _ in range(4)]
    for worker in workers:
        worker.start()
    found = [results.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join(timeout=60)
    assert all(worker.exitcode == 0 for worker in workers)
    assert all(one == found[0] for one in found)
    assert not [name for name in stored(config) if name.startswith(".")]


def _prepare_with_little_room(config, entry, results):
    prepare = cache.prepare

    def prepare_and_fill_the_disk(*arguments):
        ready = prepare(*arguments)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        return ready

    cache.prepare = prepare_and_fill_the_disk
    try:
        prepared_case(entry, config)
    except StorageError as error:
        results.put(str(error))


def test_a_full_disk_is_said_so_and_leaves_nothing_behind(config, entry):
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    worker = context.Process(target=_prepare_with_little_room, args=(config, entry, results))
    worker.start()
    message = results.get(timeout=60)
    worker.join(timeout=60)
    assert "bytes and" in message
    assert "are free there" in message
    assert "set cache:" in message
    assert stored(config) == []
    assert prepared_case(entry, config).shape == (4, 16, 16)


def test_what_a_killed_process_left_is_not_mistaken_for_slices(config, entry):
    first = prepared_case(entry, config)
    content = first.path.read_bytes()
    first.path.rename(first.path.with_name(f".{first.path.name}.1.abcd.tmp"))
    assert prepared_case(entry, config) == first
    assert first.path.read_bytes() == content


def test_a_cache_that_cannot_be_made_is_said_so(config, entry, tmp_path):
    (tmp_path / "occupied").touch()
    with pytest.raises(StorageError, match=r"occupied.*set cache:"):
        prepared_case(entry, replace(config, cache=str(tmp_path / "occupied")))


def test_a_vanished_source_is_said_so(config, entry):
    entry.files[1].unlink()
    with pytest.raises(DataError, match="there is no such file"):
        prepared_case(entry, config)


def test_the_users_cache_folder_is_the_default(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.cache_folder(DataConfig()) == tmp_path / "somamba"
