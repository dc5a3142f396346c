"""The routes of the variants of SO-Mamba, as the paper's Table 4 ticks them."""

from collections.abc import Iterable

from somamba.errors import InputError
from somamba.models.so_mamba.variants import VARIANTS
from somamba.report.table import Cell, Column, mark

ROUTES = {"router": "SOR", "residency": "G→u", "access": "Access", "outlet": "Outlet"}
"""Fields of `Routes`, in the paper's order and by its names."""


def route_columns(routes: Iterable[str] = ROUTES) -> list[Column]:
    """A column for each route."""
    return [Column(title=ROUTES[route], align="centre", first="descending") for route in routes]


def route_cells(method: str, routes: Iterable[str] = ROUTES) -> list[Cell]:
    """A tick for every route that is open in a variant; refused for another method."""
    if method not in VARIANTS:
        raise InputError(f"{method} is no variant of SO-Mamba, so it has no routes to tick; choose layout columns.")
    return [mark(VARIANTS[method].routes.is_open(route)) for route in routes]
