"""``somamba demo`` from the outside, on the real sample."""

import pytest
import torch

from somamba.cli.commands import demo
from somamba.errors import InputError, UsageError
from somamba.inference.undersampling import Undersampling
from somamba.inference.weights.trained import DEFAULT, open_weights
from somamba.raw.opening import open_raw_scan
from somamba.report.page.pixels import picture_link

pytest.importorskip("matplotlib")


def test_the_sample_is_a_complete_scan_with_its_licence():
    scan = open_raw_scan(demo.SAMPLE)
    assert (scan.coils, scan.shape, scan.slices) == (13, (224, 224), 1)
    assert scan.sampling(0).complete
    assert "Apache License" in demo.SAMPLE.with_name("LICENSE.pyqmri").read_text()
    assert demo.SAMPLE.stat().st_size < 3e6


def test_the_sample_is_the_scan_it_was_made_from(shared_data):
    whole = open_raw_scan(shared_data / "raw_kspace" / "brain_13coil_flip4.npy").kspace(0).to(torch.complex128)
    stored = open_raw_scan(demo.SAMPLE).kspace(0).to(torch.complex128)
    factor = torch.vdot(stored.flatten(), whole.flatten()) / torch.linalg.vector_norm(stored) ** 2
    error = (factor * stored - whole).abs().square().mean().sqrt()
    assert error < 1e-3 * whole.abs().square().mean().sqrt()


def test_the_demo_prints_a_table_and_writes_a_picture_and_a_page(tmp_path, capsys):
    demo.main(["-o", str(tmp_path / "out"), "--adapt", "1"])
    text = capsys.readouterr().out
    assert "56 of 224 columns" in text
    assert all(name in text for name in ("Zero-Filling", "CG-SENSE", "SO-Mamba", "SO-Mamba, adapted"))
    assert str(tmp_path / "out" / "demo.html") in text
    assert (tmp_path / "out" / "demo.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "out" / "demo.html").read_text()
    mask = Undersampling(acceleration=4).pattern((224, 224), coils=12)
    assert picture_link(mask.pattern.expand(224, 224).numpy()) in page, "the mask"
    bundled = open_weights()
    assert "somamba demo --adapt 1<" in page
    assert f"brain_raw: SO-Mamba, {bundled.parameters:,} parameters, SHA-256 {bundled.weights}" in page
    for command in ("somamba inspect scan.h5", "somamba reconstruct scan.h5 -o", "somamba weights show brain_raw"):
        assert command in page, "what to do next"


def test_on_the_real_scan_the_network_beats_zero_filling_by_6_db_and_least_squares_in_ssim():
    undersampling = Undersampling(acceleration=4)
    names = ("zero_filled", "cg_sense", DEFAULT)
    found = {name: demo.attempt(open_weights(name), undersampling).scores for name in names}
    assert found[DEFAULT].psnr >= found["zero_filled"].psnr + 6
    assert found[DEFAULT].ssim > found["cg_sense"].ssim


def test_weights_that_are_not_there_are_refused_before_any_computing(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "reconstruct", lambda *_, **__: pytest.fail("it computed first"))
    with pytest.raises(InputError, match="Did you mean 'brain_raw'"):
        demo.main(["-o", str(tmp_path), "--weights", "brain_rwa"])


def test_a_place_that_cannot_be_written_is_said_so(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="out"):
        demo.main(["-o", str(tmp_path / "file" / "out")])


def test_without_matplotlib_the_page_is_still_written(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(demo, "installed", lambda _module: False)
    demo.main(["-o", str(tmp_path), "--weights", "zero_filled"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["demo.html"]
    assert "needs matplotlib" in capsys.readouterr().out
