"""The report says where its numbers come from, and is the same for the same sources."""

import pytest

from results.made_gallery import write_gallery
from results.made_leakage import leakage_rows
from results.made_rows import changed, rows
from results.made_run import made_run, taken
from results.made_sweep import sweep_row
from somamba.report.report import build_report
from somamba.report.sources import Sources
from somamba.results.record import write_records

CONFIG = """
recipe: {model: so_mamba, note: "<script>1</script>"}
mask: {digest: feedc0de}
code: {commit: 0a1b2c, torch: 2.13.0}
hands: {device: cpu, threads: 2}
training_cases: 80
"""


@pytest.fixture
def sources(tmp_path):
    write_gallery(tmp_path / "kept")
    write_records(tmp_path / "rows.csv", [*rows("unet", "acdc", 4, psnr=(1, 2)), *rows("lmo", "acdc", 4, psnr=(3, 5))])
    return taken(tmp_path / "kept", tmp_path / "rows.csv", made_run(tmp_path / "run", config=CONFIG))


def test_the_sections_are_those_there_is_something_for(sources):
    page = build_report(sources)
    for name in ("results", "slices", "learning-curves", "provenance"):
        assert f'id="{name}"' in page
        assert f'href="#{name}"' in page
    assert 'id="leakage"' not in page
    assert 'id="leakage"' in build_report(Sources(leakage=leakage_rows()))
    assert "data:image/png;base64,cG5n" in build_report(Sources(pictures={"a": b"png"}))


def test_provenance_is_complete(sources):
    page = build_report(sources, made_by={"command": "somamba report x"})
    for text in (
        "0a1b2c",  # commit of the training
        "torch 2.13.0",
        "feedc0de",  # mask of the training
        "0000000000000000",  # mask of the gallery
        "1111111111111111",  # fingerprint of the data
        "abcd",  # mask of the rows
        "realised ×4.07",
        "realised ×4.1",
        "model: so_mamba",  # recipe
        "somamba evaluate so_mamba",  # command of the gallery
        "somamba report x",
        "Bernard et al.",
        "CC BY-NC-SA 4.0",
        "Sampling mask, golden-radial: white was measured",
    ):
        assert text in page, text


def test_no_text_of_a_file_becomes_a_script(sources):
    hostile = [changed(row, method="</script><script>alert(1)</script>") for row in rows("x", "acdc", 8)]
    sources.scores += hostile
    page = build_report(sources, title="<script>", made_by={"<script>": "<script>"})
    assert page.count("<script") == 2  # the data and our own
    assert "patient\\u003cb\\u003e2" in page


def test_the_same_sources_give_the_same_bytes(sources):
    assert build_report(sources) == build_report(sources)


def test_the_headline_is_the_gain_over_zero_filling():
    ours = rows("so_mamba", "acdc", 4, psnr=(30, 32))
    page = build_report(Sources(scores=[*rows("zero_filled", "acdc", 4, psnr=(25, 26)), *ours]))
    assert ">31.00 dB<" in page
    assert ">+5.50 dB<" in page
    assert ">SO-Mamba over Zero-Filling, 95 % within" in page


def test_the_headline_names_the_best_and_what_each_was_given():
    ours = [changed(row, weights="ab", epochs=0.5, split="val") for row in rows("so_mamba", "acdc", 4, psnr=(30, 32))]
    best = [changed(row, weights="cd", epochs=2.0, split="val") for row in rows("ista_net", "acdc", 4, psnr=(33, 35))]
    page = build_report(Sources(scores=[*ours, *best], sweep=[sweep_row("so_mamba", weights="ab")]))
    assert "2 methods on ACDC ×4, validation, 2 cases." in page
    assert ">ISTA-Net: best, SSIM 0.800, trained for 2 epochs<" in page
    assert ">SO-Mamba: SSIM 0.800, trained for 15 min (0.5 epochs)<" in page
    assert "Validation cases chose the best weights" in page
    assert "Validation cases chose" not in build_report(Sources(scores=rows("so_mamba", "acdc", 4)))
