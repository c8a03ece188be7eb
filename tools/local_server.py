"""A folder served over HTTP on this machine, while a block runs."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Quiet(SimpleHTTPRequestHandler):
    """Files as they are, and no line for each of them."""

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(folder: Path, handler: type[SimpleHTTPRequestHandler] = Quiet) -> Iterator[str]:
    """The address of the folder, without a slash at its end."""
    in_folder = functools.partial(handler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), in_folder) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
