"""The engines that run jobs, by name."""

from somamba.inference.jobs import Engine, local
from somamba.inference.ray_engine import spread
from somamba.registry import Registry

ENGINES: Registry[Engine] = Registry("engine", {"local": local, "ray": spread})
