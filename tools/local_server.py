"""A folder served over HTTP on this machine, while a block runs; by itself, the built site.

python tools/local_server.py          at http://127.0.0.1:8000 until Ctrl+C
python tools/local_server.py 8001     at another port
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

HTML = Path(__file__).resolve().parent.parent / "_build" / "html"


class Quiet(SimpleHTTPRequestHandler):
    """Files as they are, and no line for each of them."""

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    """Takes it calmly when a browser closes a page that is still being sent."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def served(folder: Path, handler: type[SimpleHTTPRequestHandler] = Quiet) -> Iterator[str]:
    """The address of the folder, without a slash at its end."""
    in_folder = functools.partial(handler, directory=str(folder))
    with Server(("127.0.0.1", 0), in_folder) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def free_port() -> int:
    """A port of this machine that nobody listens at now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve the built site on this machine.")
    parser.add_argument("port", nargs="?", type=int, default=8000, help="default 8000")
    port = parser.parse_args().port
    if not (HTML / "index.html").is_file():
        sys.exit("The site is not built yet. Run `make book` first.")
    try:
        server = Server(("127.0.0.1", port), functools.partial(Quiet, directory=str(HTML)))
    except (OSError, OverflowError) as error:
        other = port + 1 if 1024 <= port < 65535 else 8001
        sys.exit(f"Port {port} cannot be used ({error}). Take another: make serve PORT={other}")
    print(f"Open http://127.0.0.1:{port}/ in your browser; Ctrl+C ends it.", flush=True)
    with server, contextlib.suppress(KeyboardInterrupt):
        server.serve_forever()


if __name__ == "__main__":
    main()
