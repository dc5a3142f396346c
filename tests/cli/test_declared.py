"""What the parsers state is what the packages define."""

from somamba.cli import declared
from somamba.data.catalog import DATASETS
from somamba.data.terms import TERMS
from somamba.evaluation.gallery import CASES
from somamba.evaluation.leakage import CUTOFFS
from somamba.inference.engines import ENGINES
from somamba.inference.weights.trained import DEFAULT
from somamba.inference.writers.writing import FORMATS
from somamba.models.zoo import MODELS
from somamba.physics.coils.compression import MOST_COILS
from somamba.physics.masks import MASKS
from somamba.report.figures.reconstructions import ERROR_RANGE
from somamba.report.report import SLICES, TITLE
from somamba.runtime.device import MOST_THREADS
from somamba.scan.backends import BACKENDS


def test_names_are_those_of_the_registries():
    assert set(MODELS) == set(declared.MODELS)
    assert all(MODELS[name].build(MODELS[name].config).parameter_count == 0 for name in declared.WITHOUT_WEIGHTS)
    assert tuple(MASKS) == declared.MASKS
    assert tuple(FORMATS) == declared.WRITERS
    assert tuple(ENGINES) == declared.ENGINES
    assert tuple(BACKENDS) == declared.BACKENDS
    assert set(TERMS) == set(DATASETS)


def test_defaults_are_those_of_the_library():
    assert declared.WEIGHTS == DEFAULT
    assert declared.MOST_COILS == MOST_COILS
    assert declared.GALLERY_CASES == CASES
    assert declared.CUTOFFS == CUTOFFS
    assert (declared.REPORT_TITLE, declared.REPORT_SLICES) == (TITLE, SLICES)
    assert declared.ERROR_RANGE == ERROR_RANGE
    assert declared.MOST_THREADS == MOST_THREADS
