"""Weights from a model hub, by plain HTTPS: ``hf:owner/name@revision``.

    {endpoint}/owner/name/resolve/revision/SHA256SUMS    first, then every file that it names

Everything is fetched into memory within bounds and compared with its SHA-256; only then does a folder of the cache get
it whole. That folder is a checkpoint like any other, so reading it checks every byte again. A revision that is a commit
never changes: once fetched, it needs no network. A branch or tag is asked for each time, and if the server does not
answer, the copy that is there is used and the log says so.
"""

import hashlib
import logging
import os
import re
import time
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urljoin, urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from somamba.data.cache import user_cache
from somamba.durable import current, replace_folder
from somamba.errors import InputError
from somamba.inference.weights.checkpoint import PREFIX, SUMS, TENSORS, WEIGHTS, has_checkpoint, named_in_sums
from somamba.regular_files import read_regular

ENDPOINT, OFFLINE = "HF_ENDPOINT", "HF_HUB_OFFLINE"
"""Environment variables, named as other programs name them: the server, and 1 to leave the network alone."""
PUBLIC = "https://huggingface.co"
ADDRESS = re.compile(r"hf:(?P<owner>[\w.-]+)/(?P<name>[\w.-]+)(?:@(?P<revision>[\w.-]+))?", re.ASCII)
COMMIT = re.compile(r"[0-9a-f]{40}")
LOCAL = ("localhost", "127.0.0.1", "::1")
LARGE, SMALL, SUMS_BYTES = 1 << 30, 1 << 26, 10_000
"""The most bytes that a file of tensors, any other file, and the list of digests may have."""
PIECE = 1 << 20
ATTEMPTS = 3
PAUSE_SECONDS = 1.0
PATIENCE_SECONDS = 30.0

logger = logging.getLogger(__name__)


class UnreachableError(InputError):
    """A server that does not answer, or answers that break off."""


@dataclass(frozen=True)
class HubAddress:
    """The place of weights on a hub: owner, name and revision."""

    owner: str
    name: str
    revision: str

    def __str__(self) -> str:
        return f"{PREFIX}{self.owner}/{self.name}@{self.revision}"

    @property
    def folder(self) -> Path:
        """The folder of the cache that holds them once they were fetched."""
        return hub_cache() / self.owner / self.name / self.revision

    def url(self, file: str) -> str:
        """The address of one file."""
        endpoint = os.environ.get(ENDPOINT) or PUBLIC
        return checked_url(f"{endpoint.rstrip('/')}/{self.owner}/{self.name}/resolve/{self.revision}/{file}")


def hub_cache() -> Path:
    """The folder in which fetched weights are kept."""
    return user_cache() / "hub"


def parse_address(source: str) -> HubAddress:
    """Read ``hf:owner/name`` with or without ``@revision``, which is ``main`` if it is left out."""
    found = ADDRESS.fullmatch(source)
    parts = (found["owner"], found["name"], found["revision"] or "main") if found else ()
    if not parts or any(set(part) <= {"."} for part in parts):
        raise InputError(
            f"{source!r} is no address of weights on a hub. Write hf:owner/name, or hf:owner/name@revision with a "
            "branch, a tag or a commit."
        )
    return HubAddress(*parts)


def fetch(source: str) -> Path:
    """Return the folder of the cache with the weights at an address (``hf:owner/name@revision``), fetched if need be.

    Raises:
        InputError: the address is wrong, nothing is there, the server does not answer, or what came is damaged.
    """
    address = parse_address(source)
    there = has_checkpoint(address.folder)
    if there and (COMMIT.fullmatch(address.revision) or _is_offline()):
        return address.folder
    if _is_offline():
        raise InputError(f"{address} is not in the cache ({hub_cache()}), and {OFFLINE} is set. {_remedy()}")
    try:
        sums = _download(address, SUMS, SUMS_BYTES)
        if there and read_regular(current(address.folder) / SUMS, most=SUMS_BYTES) == sums:
            return address.folder
        files = {name: _checked(address, name, digest) for name, digest in _digests(address, sums).items()}
    except UnreachableError as error:
        if not there:
            raise
        logger.warning("%s The copy that was fetched before is used.", error)
        return address.folder
    replace_folder(address.folder, {**files, SUMS: sums}, shared=True)
    return address.folder


def checked_url(url: str) -> str:
    """Return an address that is safe to fetch from; anything but HTTPS is refused, except on this machine."""
    parts = urlsplit(url)
    if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOCAL):
        return url
    raise InputError(f"{url} is not fetched: an address must start with https://.")


def _digests(address: HubAddress, sums: bytes) -> dict[str, str]:
    try:
        return named_in_sums(sums)
    except ValueError as error:
        raise InputError(f"{address} does not hold weights for somamba: {error}.") from None


def _checked(address: HubAddress, name: str, digest: str) -> bytes:
    content = _download(address, name, LARGE if name in (WEIGHTS, TENSORS) else SMALL)
    if hashlib.sha256(content).hexdigest() != digest:
        raise InputError(
            f"{address} is damaged: SHA-256 of {name} differs from the one in {SUMS}. Nothing was kept. If it was "
            "being replaced on the hub, try again; else tell its owner."
        )
    return content


def _download(address: HubAddress, file: str, most: int) -> bytes:
    """One file; a connection that breaks off is tried again."""
    url = address.url(file)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with _opener().open(Request(url, headers={"User-Agent": "somamba"}), timeout=PATIENCE_SECONDS) as answer:
                return _body(answer, most, f"{address}: {file}")
        except HTTPError as error:
            error.close()
            if error.code < 500 and error.code != 429:
                raise InputError(_refusal(address, file, error.code)) from None
            reason = f"{error.code} {error.reason}"
        except (HTTPException, OSError) as error:
            inner = error.reason if isinstance(error, URLError) else error
            reason = getattr(inner, "strerror", None) or str(inner) or type(inner).__name__
        if attempt < ATTEMPTS:
            time.sleep(PAUSE_SECONDS)
    raise UnreachableError(
        f"{address} could not be fetched: {_server(url)} failed {ATTEMPTS} times ({reason}). {_remedy()}"
    )


def _body(answer: HTTPResponse, most: int, what: str) -> bytes:
    declared = answer.headers.get("Content-Length", "")
    size = int(declared) if declared.isdecimal() else None
    content = bytearray()
    while (size or 0) <= most and len(content) <= most and (piece := answer.read(PIECE)):
        content += piece
    if (size or len(content)) > most:
        raise InputError(f"{what} is larger than the {most:,} bytes that are read.")
    if size is not None and len(content) < size:
        raise HTTPException(f"{len(content):,} of {size:,} bytes came")
    return bytes(content)


class _SafeRedirects(HTTPRedirectHandler):
    """Hubs send files from other servers; a redirection leads to HTTPS as well."""

    def redirect_request(self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Request | None:
        """Follow to an address that is safe to fetch from."""
        return super().redirect_request(req, fp, code, msg, headers, checked_url(urljoin(req.full_url, newurl)))


def _opener() -> OpenerDirector:
    return build_opener(_SafeRedirects)


def _refusal(address: HubAddress, file: str, code: int) -> str:
    if code in (401, 403):
        return (
            f"{address}: the hub answers {code} for {file}. It does not exist, or only those who are logged in may "
            "have it: fetch its folder with the hub's own tools, and give the name of that folder."
        )
    if code == 404:
        return (
            f"{address}: there is no {file} (404). Compare owner, name and revision; weights for somamba have a "
            f"{SUMS}, as `somamba weights export` writes it."
        )
    return f"{address}: the hub answers {code} for {file}."


def _remedy() -> str:
    return (
        f"Without a network, copy the folder from a machine that has it and give its name; {ENDPOINT} names a mirror."
    )


def _server(url: str) -> str:
    return "{0.scheme}://{0.netloc}".format(urlsplit(url))


def _is_offline() -> bool:
    return os.environ.get(OFFLINE, "0") not in ("", "0")
