"""Plain data over a pipe: calls to the process that runs a submission, results back.

JSON with arrays as base64. Nothing in it can be executed (never pickle), and every frame has a
largest size, so neither side can hurt the other through the pipe.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import struct
from typing import Any, BinaryIO

import numpy as np

from attnbook.exercises.exercise import Call, Result

LARGEST_FRAME = 64 * 1024 * 1024  # bytes
_HEADER = struct.Struct(">Q")


class WireError(ValueError):
    """What came over the pipe is not what the format allows."""


def write(stream: BinaryIO, message: Any) -> None:
    """Send one message: its length, then its JSON."""
    payload = json.dumps(pack(message)).encode()
    if len(payload) > LARGEST_FRAME:
        raise WireError(f"a message of {len(payload)} bytes is too large (at most {LARGEST_FRAME})")
    stream.write(_HEADER.pack(len(payload)) + payload)
    stream.flush()


def read(stream: BinaryIO) -> Any:
    """Receive one message; EOFError when the other side has gone."""
    (length,) = _HEADER.unpack(_exactly(stream, _HEADER.size))
    if length > LARGEST_FRAME:
        raise WireError(f"a message of {length} bytes is too large (at most {LARGEST_FRAME})")
    try:
        return unpack(json.loads(_exactly(stream, length)))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise WireError(f"not a message: {error}") from None


def _exactly(stream: BinaryIO, count: int) -> bytes:
    parts = []
    while count:
        part = stream.read(count)
        if not part:
            raise EOFError("the other side closed the pipe")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def pack(value: Any) -> Any:
    """Plain data to what JSON can hold."""
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        if array.dtype.kind not in "fiub":
            return {"text": str(array)[:1000]}
        data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
        return {"array": [array.dtype.str, list(array.shape), data]}
    if isinstance(value, (Call, Result)):
        fields = {f.name: pack(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {type(value).__name__: fields}
    if isinstance(value, tuple):
        return {"tuple": [pack(part) for part in value]}
    if isinstance(value, list):
        return [pack(part) for part in value]
    if isinstance(value, dict):
        return {"dict": [[pack(key), pack(part)] for key, part in value.items()]}
    if isinstance(value, complex):
        return {"text": str(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise WireError(f"{type(value).__name__} is not plain data")


def unpack(value: Any) -> Any:
    """What JSON held, back to plain data."""
    if isinstance(value, list):
        return [unpack(part) for part in value]
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()  # half a character fits into no file
    if not isinstance(value, dict):
        return value
    (tag, content), *rest = value.items()
    if rest:
        raise WireError("one tag a dict")
    if tag == "array":
        dtype, shape, data = content
        dtype = np.dtype(dtype)
        if dtype.kind not in "fiub":
            raise WireError(f"arrays of {dtype} are not allowed")
        return np.frombuffer(base64.b64decode(data), dtype).reshape(shape).copy()
    if tag == "tuple":
        return tuple(unpack(part) for part in content)
    if tag == "dict":
        return {unpack(key): unpack(part) for key, part in content}
    if tag == "text":
        return str(unpack(content))
    if tag in ("Call", "Result"):
        fields = {name: unpack(part) for name, part in content.items()}
        return (Call if tag == "Call" else Result)(**fields)
    raise WireError(f"unknown tag {tag!r}")
