"""``somamba train`` from the outside: real SO-Mamba, as small as it gets, on synthetic files."""

import re
import signal
from pathlib import Path

import pytest
import yaml
from torch.distributed.run import get_args_parser

from cli.signals import terminated_once_it_runs
from inference.checkpoints import save_tiny
from raw.made import coil_kspace, lines_of, write_mrd
from somamba.cli.commands import train
from somamba.cli.main import parser_of, run_command
from somamba.data.config import DataConfig
from somamba.data.simulation.augmentation_config import Augmentation
from somamba.errors import ConfigError, InputError, UnknownNameError
from somamba.inference.weights.checkpoint import read_checkpoint
from somamba.results.journal import read_journal
from training.tiny import write_data

RECIPES = Path(__file__).parents[3] / "recipes"
RECIPE = {
    "network": {"groups": 1, "units": 1, "channels": 16, "d_model": 8, "mixer": {"d_head": 8}},
    "data": {"size": [16, 16]},
    "optimiser": {"warmup_epochs": 0.5},
    "epochs": 2,
    "batch_size": 4,
    "machine": {"device": "cpu", "checkpoint_minutes": 1e-9},
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with data, a recipe, and the arguments that name both."""
    folder = tmp_path_factory.mktemp("train")
    data = write_data(folder)
    (folder / "tiny.yaml").write_text(yaml.safe_dump(RECIPE))
    return folder, [str(folder / "tiny.yaml"), f"--data.path={data.path}", f"--data.cache={data.cache}"]


@pytest.fixture(scope="module")
def finished(place):
    """The folder of a finished run."""
    folder, arguments = place
    run_command("train", [*arguments, "--output", str(folder / "run")])
    return folder / "run"


def test_a_run_goes_all_the_way_to_a_table(place, finished, capsys):
    folder, _ = place
    where = ["--dataset", "acdc", "--data", str(folder / "acdc"), "--cache", str(folder / "cache"), "--split", "test"]
    for source, name in ((str(finished / "best"), "mine"), ("zero_filled", "zero")):
        size = [] if name == "mine" else ["--acceleration", "4"]
        run_command("evaluate", [source, *where, *size, "--csv", str(folder / f"{name}.csv")])
    capsys.readouterr()
    with pytest.raises(InputError, match="cannot be compared: they differ in the mask"):
        # By name there is no recipe to take the size of the images from, so the masks differ.
        run_command("table", [str(folder / "mine.csv"), str(folder / "zero.csv")])
    run_command("table", [str(folder / "mine.csv")])
    assert capsys.readouterr().out.splitlines()[-1].startswith("| SO-Mamba |")


def test_plain_lines_tell_the_progress_and_the_end(place, capsys):
    folder, arguments = place
    run_command("train", [*arguments, "--output", str(folder / "told"), "--model", "without_access"])
    lines = capsys.readouterr().out.splitlines()
    assert "slices/s" in lines[-2]
    assert lines[-1].startswith("Finished after 4 steps, best validation PSNR")


def test_a_dry_run_says_what_would_be_done_and_leaves_nothing(place, capsys, monkeypatch):
    folder, arguments = place
    monkeypatch.setattr(train, "processes_for", lambda *_: 1)  # Several processes have a test of their own.
    run_command("train", [*arguments, "--output", str(folder / "dry"), "--dry-run"])
    text = capsys.readouterr().out
    for words in ("2 cases, 8 slices", "4 of 4 slices: 2 epochs of 2", "parameters", "G MACs", "slices/s", "time"):
        assert words in text
    assert not (folder / "dry").exists()


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_weights_to_start_from_that_do_not_fit_are_refused_before_data_are_read(place, tmp_path, more):
    _, arguments = place
    begun = [*arguments, "--output", str(tmp_path / "run"), "--data.path", str(tmp_path / "nothing"), *more]
    for start, complaint in ((tmp_path, "not a checkpoint"), (save_tiny(tmp_path / "tiny"), "does not fit the model")):
        with pytest.raises(InputError, match=complaint):
            run_command("train", [*begun, "--start-from", str(start)])
    assert not (tmp_path / "run").exists()


def test_the_printed_config_is_a_recipe(place, capsys, tmp_path):
    _, arguments = place
    with pytest.raises(SystemExit) as leave:
        run_command("train", [*arguments, "--epochs=7", "--print_config"])
    assert leave.value.code == 0
    (tmp_path / "printed.yaml").write_text(capsys.readouterr().out)
    options = parser_of("train").parse_args([str(tmp_path / "printed.yaml")])
    recipe = train.asked_recipe(options)
    assert (recipe.epochs, recipe.network.groups, str(options.output)) == (7, 1, "runs/printed")


def test_help_lists_the_fields_of_a_recipe(capsys):
    with pytest.raises(SystemExit):
        run_command("train", [str(RECIPES / "acdc_x4.yaml"), "--help"])
    text = capsys.readouterr().out
    for option in ("--resume", "--dry-run", "--optimiser.learning-rate", "--network.mixer.d-state", "Rate at the end"):
        assert option in text


@pytest.mark.parametrize("wrong", [["--epochss=3"], ["--network.goups=3"], ["--epochs=some"], ["stray"]])
def test_options_that_do_not_exist_are_refused(place, wrong):
    with pytest.raises(ConfigError):
        run_command("train", [*place[1], *wrong])


def test_the_recipe_comes_first():
    for arguments in ([], ["--resume"]):
        with pytest.raises(ConfigError, match="file comes first: somamba train RECIPE"):
            run_command("train", arguments)


def test_a_time_limit_leaves_with_a_code_that_says_try_again(place, capsys):
    folder, arguments = place
    hurried = [*arguments, "--output", str(folder / "late"), "--machine.max_minutes=1e-9"]
    with pytest.raises(SystemExit) as leave:
        run_command("train", hurried)
    assert leave.value.code == train.RESUMABLE
    assert "--resume goes on" in capsys.readouterr().out
    run_command("train", [*arguments, "--output", str(folder / "late"), "--resume"])


def test_sigterm_saves_and_leaves_with_143(place, capsys):
    folder, arguments = place
    journal = folder / "term" / "journal.jsonl"
    with terminated_once_it_runs(journal), pytest.raises(SystemExit) as leave:
        run_command("train", [*arguments, "--output", str(folder / "term"), "--epochs=1000", "--machine.max_minutes=2"])
    assert leave.value.code == 128 + signal.SIGTERM
    assert "Stopped by a signal" in capsys.readouterr().out
    steps = [event["step"] for event in read_journal(journal) if event["event"] == "step"]
    assert read_checkpoint(folder / "term" / "last").training.values["step"] == steps[-1]


def test_torchrun_takes_no_option_of_ours_for_its_own(capsys):
    """It abbreviates: an option that begins one of its own is refused or swallowed, wherever it stands."""
    theirs = [option for action in get_args_parser()._actions for option in action.option_strings]
    for command, first in (("train", [str(RECIPES / "acdc_x4.yaml")]), ("evaluate", [])):
        with pytest.raises(SystemExit):
            run_command(command, [*first, "--help"])
        ours = set(re.findall(r"--[\w.-]+", capsys.readouterr().out.split("examples:")[-1].split("\n\n", 1)[1]))
        assert len(ours) > 5
        assert not [(option, own) for option in ours - {"--help"} for own in theirs if own.startswith(option)]


def test_a_dry_run_does_not_name_one_mask_where_many_are_drawn():
    augmentation = Augmentation(acceleration=(3, 8))
    brain = DataConfig(dataset="brain_t1w", protocol="raw", combine="sense", augmentation=augmentation)
    drawn = DataConfig(dataset="m4raw", protocol="raw", acceleration=6)
    assert train._masks(brain) == "equispaced and random masks drawn for every slice, x3 to x8"
    assert train._masks(drawn) == f"{drawn.mask_kind} masks drawn for every slice, x6"
    assert train._masks(DataConfig()) == "golden-radial mask, x4"


def test_a_grid_is_sent_to_sweep(tmp_path):
    (tmp_path / "grid.yaml").write_text("base: x.yaml\nruns: [{name: a}]\n")
    with pytest.raises(ConfigError, match=r"is a grid .*somamba sweep .*grid\.yaml"):
        run_command("train", [str(tmp_path / "grid.yaml")])


def test_two_processes_train_as_one_does_and_print_once(place, finished, capfd):
    folder, arguments = place
    with pytest.raises(SystemExit) as leave:
        run_command("train", [*arguments, "--output", str(folder / "shared"), "--processes", "2"])
    assert leave.value.code == 0
    out = capfd.readouterr().out
    assert out.count("Finished after 4 steps") == 1
    config = read_checkpoint(folder / "shared" / "last").config
    assert config["hardware"] == {"device": "cpu", "processes": 2, "threads": 1}
    losses = [
        [event["loss"] for event in read_journal(run / "journal.jsonl") if event["event"] == "step"]
        for run in (folder / "shared", finished)
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


def test_a_dry_run_measures_several_processes_too(place, capfd):
    folder, arguments = place
    run_command("train", [*arguments, "--output", str(folder / "dry"), "--dry-run", "--processes=2"])
    out = capfd.readouterr().out
    assert out.count("slices/s") == 2
    one, several, verdict = out.splitlines()[-3:]
    assert one.startswith("1 process ")
    assert several.startswith("2 processes  threads of each 1, 2 slices in a forward pass: ")
    assert verdict.split(maxsplit=1)[0] == "faster"
    speeds = [float(line.split(" slices/s")[0].split()[-1]) for line in (one, several)]
    assert ("--processes 2" in verdict) == (speeds[1] > speeds[0])
    assert not (folder / "dry").exists()


def test_an_unknown_logger_is_refused_before_anything_is_trained(place):
    folder, arguments = place
    with pytest.raises(UnknownNameError, match="Did you mean 'tensorboard'"):
        run_command("train", [*arguments, "--output", str(folder / "unlogged"), "--logger", "tensorbord"])
    assert not (folder / "unlogged").exists()


def test_a_folder_of_raw_scans_trains_weights_that_reconstruct_one(tmp_path, capsys):
    """Scans of different coils and sizes train together, and what they trained reconstructs an undersampled one."""
    for subject, (coils, width) in {"anna": (3, 48), "berta": (5, 48), "carl": (4, 64)}.items():
        (tmp_path / "scans" / subject).mkdir(parents=True)
        kspace = coil_kspace(coils, 64, width)
        write_mrd(tmp_path / "scans" / subject / "scan.h5", lines_of(kspace), kspace.shape[-2:])
    small = [f"--network.{name}={value}" for name, value in {"channels": 16, "d-model": 8, "mixer.d-head": 8}.items()]
    where = [f"--data.path={tmp_path / 'scans'}", f"--data.cache={tmp_path / 'cache'}", "--epochs=1"]
    centre = ["--data.mask-options.center-fraction=0.34", "--data.acceleration=2", "--optimiser.warmup-epochs=0"]
    run = tmp_path / "run"
    run_command("train", [str(RECIPES / "folder_raw.yaml"), *small, *where, *centre, "--output", str(run)])
    assert "Finished after 2 steps" in capsys.readouterr().out
    scan = tmp_path / "scans" / "carl" / "scan.h5"
    image = tmp_path / "image.nii.gz"
    undersampled = ["--acceleration", "2", "--calibration", "20", "--no-refinement"]
    run_command("reconstruct", [str(scan), "-o", str(image), "--weights", str(run / "best"), *undersampled])
    assert image.is_file()
