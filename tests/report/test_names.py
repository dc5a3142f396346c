"""The paper's names and order."""

from somamba.report.names import METHODS, counted, dataset_name, distinct_names, method_name, method_place, run_name
from somamba.results.setting import Subject


def measured(method, seed=0, weights="ab", epochs=1.0):
    return Subject(method=method, seed=seed, weights=weights, epochs=epochs, parameters=1)


def test_what_the_paper_has_is_called_so_and_the_rest_as_it_is():
    assert (method_name("without_outlet"), method_name("mine")) == ("w/o output outlet", "mine")
    assert (dataset_name("fastmri"), dataset_name("brain_t1w")) == ("fastMRI", "brain_t1w")


def test_methods_stand_in_the_papers_order_and_others_after_them_by_name():
    names = ["zebra", "so_mamba", "ape", "unet"]
    assert sorted(names, key=method_place) == ["unet", "so_mamba", "ape", "zebra"]
    assert sorted(METHODS, key=method_place) == list(METHODS)


def test_as_many_details_as_are_needed_tell_methods_apart():
    assert distinct_names([measured("unet"), measured("so_mamba")]) == ["UNet", "SO-Mamba"]
    found = distinct_names([measured("unet"), measured("so_mamba"), measured("so_mamba", seed=1)])
    assert found == ["UNet", "SO-Mamba, seed 0", "SO-Mamba, seed 1"]
    found = distinct_names([measured("so_mamba"), measured("so_mamba", weights="cd"), measured("so_mamba", seed=1)])
    assert found == ["SO-Mamba, seed 0, weights ab", "SO-Mamba, seed 0, weights cd", "SO-Mamba, seed 1"]


def test_a_detail_that_tells_nothing_apart_is_left_out():
    pair = [measured("so_mamba", weights="a" * 16), measured("so_mamba", weights="b" * 16)]
    assert distinct_names(pair) == ["SO-Mamba, weights aaaaaaaa", "SO-Mamba, weights bbbbbbbb"]
    longer = [*pair[:1], measured("so_mamba", weights="b", epochs=2.0)]
    assert distinct_names(longer) == ["SO-Mamba, 1 epoch", "SO-Mamba, 2 epochs"]


def test_one_is_not_several():
    assert [counted(number, "case") for number in (0, 1, 2)] == ["0 cases", "1 case", "2 cases"]


def test_a_run_is_named_by_its_method_and_two_of_one_name_by_their_parents_too():
    assert run_name("so_mamba") == "SO-Mamba"
    assert run_name("mine") == "mine"
    assert run_name("long_sweep/so_mamba") == "SO-Mamba, long_sweep"
