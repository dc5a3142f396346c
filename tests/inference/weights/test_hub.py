"""Weights come from a hub whole and checked, or not at all; a real server on this machine stands for the hub."""

import hashlib
import logging
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import somamba
from inference.checkpoints import save_tiny
from somamba.errors import InputError
from somamba.inference.weights import hub
from somamba.inference.weights.hub import checked_url, fetch, parse_address
from somamba.inference.weights.released import fetched_weights
from somamba.inference.weights.trained import open_model

SOURCE = "hf:lab/knee"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(ThreadingHTTPServer):
    """A hub with one set of weights; ``faults`` says which answers are wrong, and how."""

    def __init__(self, files):
        super().__init__(("127.0.0.1", 0), Answers)
        self.files, self.faults, self.asked = files, {}, Counter()

    @property
    def address(self):
        """What HF_ENDPOINT names."""
        return f"http://127.0.0.1:{self.server_port}"


class Answers(BaseHTTPRequestHandler):
    """Sends files from memory, or goes wrong as it was told to."""

    def do_GET(self):
        """Answer as the hub does: /owner/name/resolve/revision/file."""
        owner, name, _, _, file = self.path.strip("/").split("/")
        self.server.asked[file] += 1
        fault = self.server.faults.get(file)
        if isinstance(fault, str):
            return self.send(302, b"", Location=fault)
        if isinstance(fault, int) or (owner, name, file in self.server.files) != ("lab", "knee", True):
            return self.send(fault or 404, b"an error page")
        content = self.server.files[file]
        if fault is None:
            return self.send(200, content)
        return fault(self, content)

    def send(self, status, content, **headers):
        """Send an answer whose headers may lie."""
        self.send_response(status)
        for key, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_words):
        """Keep quiet."""


def breaks_off(answers, content):
    answers.send(200, content[: len(content) // 2], **{"Content-Length": str(len(content))})


def breaks_off_once(answers, content):
    if answers.server.asked["model.safetensors"] == 1:
        return breaks_off(answers, content)
    return answers.send(200, content)


def ends_early(answers, content):
    """Without a declared length, only the digest can tell."""
    answers.send_response(200)
    answers.end_headers()
    answers.wfile.write(content[:-7])


def flips_a_bit(answers, content):
    answers.send(200, content[:-1] + bytes([content[-1] ^ 1]))


def claims_too_much(answers, content):
    answers.send(200, content, **{"Content-Length": str(1 << 40)})


def never_ends(answers, _content):
    answers.send_response(200)
    answers.end_headers()
    try:
        while True:
            answers.wfile.write(b"0" * 65536)
    except OSError:
        pass


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = save_tiny(tmp_path_factory.mktemp("hub") / "knee")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def server(files, tmp_path, monkeypatch):
    """The hub runs, the cache is empty, and attempts follow each other at once."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(hub, "PAUSE_SECONDS", 0)
    with Hub(dict(files)) as running:
        monkeypatch.setenv("HF_ENDPOINT", running.address)
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.mark.usefixtures("server")
def test_weights_of_a_hub_are_loaded_like_any_others(files, tmp_path):
    model = somamba.load(f"{SOURCE}@v1", device="cpu")
    assert model.trained.source == f"{SOURCE}@v1"
    assert model.trained.weights == hashlib.sha256(files["model.safetensors"]).hexdigest()[:16]
    folder = tmp_path / "cache" / "somamba" / "hub" / "lab" / "knee" / "v1"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == files
    assert fetched_weights() == {f"{SOURCE}@v1": folder}


@pytest.mark.usefixtures("server")
def test_every_command_that_opens_a_model_takes_an_address():
    assert open_model(SOURCE).source == SOURCE
    assert list(fetched_weights()) == [f"{SOURCE}@main"]


def test_a_commit_is_asked_for_once(server):
    fetch(f"{SOURCE}@{COMMIT}")
    server.asked.clear()
    fetch(f"{SOURCE}@{COMMIT}")
    assert not server.asked


def test_a_branch_is_fetched_again_only_when_it_has_changed(server, tmp_path):
    fetch(SOURCE)
    server.asked.clear()
    fetch(SOURCE)
    assert server.asked == {"SHA256SUMS": 1}
    changed = save_tiny(tmp_path / "changed", "magnitude")
    server.files = {path.name: path.read_bytes() for path in changed.iterdir()}
    assert open_model(SOURCE).protocol == "magnitude"


@pytest.mark.parametrize("fault", [breaks_off, 503, 429])
def test_a_server_that_fails_is_tried_three_times(server, fault):
    server.faults["model.safetensors"] = fault
    with pytest.raises(InputError, match=r"failed 3 times .* copy the folder .* HF_ENDPOINT"):
        fetch(SOURCE)
    assert server.asked["model.safetensors"] == 3
    assert not fetched_weights()


def test_a_connection_that_breaks_off_once_is_forgiven(server):
    server.faults["model.safetensors"] = breaks_off_once
    assert open_model(SOURCE).name == "so_mamba"


@pytest.mark.parametrize("fault", [flips_a_bit, ends_early])
@pytest.mark.parametrize("file", ["model.safetensors", "config.yaml"])
def test_what_differs_from_its_digest_is_not_kept(server, file, fault):
    server.faults[file] = fault
    with pytest.raises(InputError, match=rf"damaged: SHA-256 of {file} differs.*Nothing was kept"):
        fetch(SOURCE)
    assert not fetched_weights()
    del server.faults[file]
    assert open_model(SOURCE).name == "so_mamba"


@pytest.mark.parametrize(
    ("file", "most", "fault"),
    [("SHA256SUMS", "10,000", never_ends), ("config.yaml", "67,108,864", claims_too_much)],
)
def test_more_than_the_bounds_is_not_read(server, file, most, fault):
    server.faults[file] = fault
    with pytest.raises(InputError, match=rf"{file} is larger than the {most} bytes"):
        fetch(SOURCE)
    assert server.asked[file] == 1


def test_what_is_not_there_is_said(server):
    with pytest.raises(InputError, match=r"hf:lab/elbow@main: there is no SHA256SUMS \(404\)"):
        somamba.load("hf:lab/elbow")
    server.faults["SHA256SUMS"] = 401
    with pytest.raises(InputError, match=r"answers 401 .* logged in"):
        fetch(SOURCE)
    assert server.asked["SHA256SUMS"] == 2


@pytest.mark.parametrize(
    "sums", [b"", b"<html>sign in</html>\n", b"0" * 64 + b"  ../evil\n", 2 * (b"0" * 64 + b"  config.yaml\n")]
)
def test_a_list_of_digests_that_is_none_is_refused(server, sums):
    server.files["SHA256SUMS"] = sums
    with pytest.raises(InputError, match="does not hold weights for somamba: SHA256SUMS must name"):
        fetch(SOURCE)
    assert server.asked == {"SHA256SUMS": 1}


def test_redirections_are_followed(server, files):
    with Hub(files) as other:
        thread = threading.Thread(target=other.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        server.faults["model.safetensors"] = f"{other.address}/lab/knee/resolve/main/model.safetensors"
        try:
            assert open_model(SOURCE).name == "so_mamba"
            assert other.asked == {"model.safetensors": 1}
        finally:
            other.shutdown()
            thread.join()


@pytest.mark.parametrize("place", ["http://example.org/x", "file:///etc/passwd", "ftp://127.0.0.1/x"])
def test_redirections_away_from_https_are_refused(server, place):
    server.faults["model.safetensors"] = place
    with pytest.raises(InputError, match=r"(is not fetched: an address must start with https|answers 302)"):
        fetch(SOURCE)
    assert not fetched_weights()


def test_redirections_in_a_circle_end(server):
    server.faults["SHA256SUMS"] = "/lab/knee/resolve/main/SHA256SUMS"
    with pytest.raises(InputError, match="answers 302"):
        fetch(SOURCE)


@pytest.mark.usefixtures("server")
def test_without_a_network_the_message_says_what_to_do(monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(InputError, match=r"http://127\.0\.0\.1:9 failed 3 times \(Connection refused\).*mirror"):
        somamba.load(SOURCE)


@pytest.mark.usefixtures("server")
def test_without_a_network_a_copy_that_is_there_is_used_and_said(monkeypatch, caplog):
    fetch(SOURCE)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with caplog.at_level(logging.WARNING):
        assert open_model(SOURCE).name == "so_mamba"
    assert "The copy that was fetched before is used" in caplog.text


def test_offline_means_that_nobody_is_asked(server, monkeypatch):
    fetch(SOURCE)
    server.asked.clear()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert open_model(SOURCE).name == "so_mamba"
    with pytest.raises(InputError, match=r"not in the cache .* HF_HUB_OFFLINE is set"):
        fetch(f"{SOURCE}@v2")
    assert not server.asked


@pytest.mark.usefixtures("server")
def test_a_damaged_copy_is_noticed():
    folder = fetch(SOURCE)
    (folder / "config.yaml").write_text("recipe: {}\n")
    with pytest.raises(InputError, match=r"damaged: SHA-256 of config\.yaml differs"):
        open_model(SOURCE)


def test_a_fetch_that_cannot_be_written_leaves_the_old_copy(server, tmp_path, monkeypatch):
    fetch(SOURCE)
    before = fetched_weights()[f"{SOURCE}@main"]
    changed = save_tiny(tmp_path / "changed", "magnitude")
    server.files = {path.name: path.read_bytes() for path in changed.iterdir()}

    def interrupted(*_arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("somamba.durable._write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch(SOURCE)
    monkeypatch.undo()
    assert [path.name for path in before.parent.iterdir()] == ["main"]
    assert open_model(str(before)).protocol == "raw"


@pytest.mark.parametrize(
    "source",
    [
        "hf:",
        "hf:knee",
        "hf:lab/knee/more",
        "hf:lab/../knee",
        "hf:../knee",
        "hf:lab/knee@",
        "hf:lab/knee@../x",
        "hf:a/b@..",
    ],
)
def test_addresses_that_are_none_are_refused(source):
    with pytest.raises(InputError, match=r"no address of weights on a hub\. Write hf:owner/name"):
        parse_address(source)


@pytest.mark.parametrize(
    "url", ["http://huggingface.co/x", "file:///x", "huggingface.co/x", "http://127.0.0.1.evil.org"]
)
def test_only_https_is_fetched_from_elsewhere(url):
    with pytest.raises(InputError, match="must start with https://"):
        checked_url(url)
