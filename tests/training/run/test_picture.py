"""Every validation leaves a picture of one slice, and a training goes on without it."""

import logging

import numpy as np
from PIL import Image

from somamba.data.slices import open_slices
from training.tiny import run, tiny_recipe, write_data


def test_the_picture_shows_target_zero_filled_reconstruction_and_error(tmp_path):
    recipe = tiny_recipe(write_data(tmp_path), epochs=1)
    run(recipe, tmp_path / "run")
    with Image.open(tmp_path / "run" / "validation.png") as opened:
        picture = np.asarray(opened)
        assert opened.text["Software"] == "somamba"
    validation = open_slices(recipe.data, "val")
    target = validation[len(validation.cases[0].slices) // 2].target[0].numpy()
    assert picture.shape == (16, 4 * 16)
    np.testing.assert_allclose(picture[:, :16], 255 * target / target.max(), atol=0.51)
    assert np.abs(picture[:, 16:32].astype(int) - picture[:, :16]).max() > 10
    difference = 5 * np.abs(picture[:, 32:48].astype(int) - picture[:, :16]).clip(max=51)
    assert np.abs(picture[:, 48:].astype(int) - difference).max() <= 6


def test_a_picture_that_cannot_be_written_is_said_and_the_training_ends_well(tmp_path, caplog):
    (tmp_path / "run" / "validation.png").mkdir(parents=True)
    with caplog.at_level(logging.WARNING):
        outcome = run(tiny_recipe(write_data(tmp_path), epochs=1), tmp_path / "run")
    assert outcome.reason == "finished"
    assert "picture of the validation was not written, the training goes on" in caplog.text
