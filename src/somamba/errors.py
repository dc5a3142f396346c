"""Every exception somamba raises on purpose."""


class SomambaError(Exception):
    """Base class; the command line prints it without a traceback and exits with 2."""


class ConfigError(SomambaError, ValueError):
    """A configuration that cannot be built."""


class UsageError(ConfigError):
    """A command line that cannot be understood."""


class InputError(SomambaError, ValueError):
    """Data handed to the library that it cannot work with: shape, dtype, size or values."""


class DataError(SomambaError, ValueError):
    """A dataset on disk that cannot be used: a missing, damaged, hostile or unexpected file."""


class BackendError(SomambaError, RuntimeError):
    """A backend that was asked for by name and cannot run."""


class UnknownNameError(SomambaError, KeyError):
    """A name that no entry of a registry has."""

    def __str__(self) -> str:
        return str(self.args[0])


class MissingExtraError(SomambaError, ImportError):
    """A feature whose optional dependency is not installed."""


class StorageError(SomambaError, OSError):
    """A file or folder that could not be written."""


class TrainingError(SomambaError, RuntimeError):
    """A training that cannot go on."""
