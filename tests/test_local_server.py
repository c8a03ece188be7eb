"""The site is served on this machine, by `make serve` too, and a port in use gets a sentence."""

import contextlib
import socket
import sys
import threading
import urllib.error
import urllib.request

import pytest

from tools import local_server
from tools.local_server import free_port, served


@pytest.fixture
def small_site(tmp_path, monkeypatch):
    """A site of one page in the place of the built one."""
    (tmp_path / "index.html").write_text("Hello.", encoding="utf-8")
    monkeypatch.setattr(local_server, "HTML", tmp_path)
    return tmp_path


@pytest.fixture
def serve(monkeypatch):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["local_server.py", *map(str, arguments)])
        local_server.main()

    return run


def text_at(address):
    with urllib.request.urlopen(address, timeout=10) as answer:
        return answer.read().decode()


def serving():
    return {thread for thread in threading.enumerate() if "serve_forever" in thread.name}


def test_a_folder_is_served_as_long_as_the_block_runs_even_if_it_fails(small_site):
    before = serving()
    with contextlib.suppress(ZeroDivisionError), served(small_site) as address:
        assert text_at(f"{address}/") == "Hello."
        1 / 0  # noqa: B018
    with pytest.raises(urllib.error.URLError):
        text_at(f"{address}/")
    assert serving() == before


def test_the_command_serves_the_site_until_ctrl_c(small_site, serve, monkeypatch, capsys):
    port = free_port()

    def once(server):
        with socket.create_connection(("127.0.0.1", port)) as reader:
            reader.sendall(b"GET / HTTP/1.0\r\n\r\n")
            server.handle_request()
            said.append(reader.makefile("rb").read())
        raise KeyboardInterrupt

    said = []
    monkeypatch.setattr(local_server.Server, "serve_forever", once)
    serve(port)
    assert said[0].endswith(b"Hello.")
    assert f"Open http://127.0.0.1:{port}/" in capsys.readouterr().out


def test_a_port_in_use_is_said_with_another_to_take(small_site, serve):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(SystemExit, match=f"Port {port} cannot be used.*make serve PORT="):
            serve(port)
    with pytest.raises(SystemExit, match="Port 70000 cannot be used.*PORT=8001"):
        serve(70000)


def test_without_a_site_there_is_nothing_to_serve(tmp_path, serve, monkeypatch):
    monkeypatch.setattr(local_server, "HTML", tmp_path)
    with pytest.raises(SystemExit, match="Run `make book` first"):
        serve()
