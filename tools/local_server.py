"""A folder served over HTTP on this machine, while a block runs."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


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
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
