"""Use a candidate on one call and report what came, as plain data.

This is the only module that touches the reader's code. It never sees an expected value, so it can
run in a process of its own.
"""

from __future__ import annotations

import _thread
import contextlib
import copy
import dataclasses
import dis
import inspect
import io
import linecache
import signal
import sys
import threading
import time
import traceback
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from attnbook.exercises.exercise import Call, Result

SECONDS_PER_CALL = 2.0  # of the processor's time
PATIENCE = 10.0  # seconds on the clock: a busy machine is no mistake of the reader's


class OutOfTime(BaseException):
    """Raised inside the candidate when its time is up; not an Exception, so `except Exception`
    in the candidate does not swallow it."""


@contextlib.contextmanager
def time_limit(seconds: float, at_most: float | None = None) -> Iterator[None]:
    """Stop the block, where it runs in the main thread.

    `seconds` are those the processor worked for the block, `at_most` those on the clock (the same
    unless given). An import under way is never cut short: libraries load parts of themselves at
    the first call, and one that is half loaded stays broken.
    """
    at_most = seconds if at_most is None else at_most
    if threading.current_thread() is not threading.main_thread():
        yield
    elif hasattr(signal, "setitimer"):
        yield from _limit_by_signal(seconds, at_most, sys._getframe(2))
    else:  # Windows
        yield from _limit_by_thread(at_most, sys._getframe(2))


def _limit_by_signal(seconds: float, at_most: float, outside: types.FrameType) -> Iterator[None]:
    began, worked = time.monotonic(), time.thread_time()

    def stop(signum: int, frame: types.FrameType | None) -> None:
        nonlocal worked
        if _is_importing(frame, outside):
            worked = time.thread_time()  # the work of an import does not count
        elif time.thread_time() - worked >= seconds or time.monotonic() - began >= at_most:
            raise OutOfTime

    before = signal.signal(signal.SIGALRM, stop)
    # The timer repeats, so a bare `except:` in a loop does not escape it.
    signal.setitimer(signal.ITIMER_REAL, seconds, min(0.2, seconds))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _limit_by_thread(at_most: float, outside: types.FrameType) -> Iterator[None]:
    """By an interrupt of the main thread; the processor's time is not asked for."""
    late, over = threading.Event(), threading.Event()
    main = threading.get_ident()

    def interrupt() -> None:
        wait = at_most
        while not over.wait(wait):
            wait = 0.2
            if not _is_importing(sys._current_frames().get(main), outside):
                late.set()
                _thread.interrupt_main()

    watch = threading.Thread(target=interrupt, daemon=True)
    watch.start()
    try:
        yield
    except KeyboardInterrupt:
        if late.is_set():
            raise OutOfTime from None
        raise
    finally:
        over.set()
        watch.join()


def _is_importing(frame: types.FrameType | None, outside: types.FrameType) -> bool:
    """Does the frame belong to an import that began within the block?"""
    while frame is not None and frame is not outside:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


class _Sink(io.TextIOBase):
    """Somewhere to print to that keeps nothing but the fact."""

    used = False

    def write(self, text: str) -> int:
        self.used = True
        return len(text)


@contextlib.contextmanager
def quiet() -> Iterator[_Sink]:
    """Keep what the block prints off the page."""
    sink = _Sink()
    with contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink):
        yield sink


def encode(value: Any) -> tuple[Any, Any]:
    """A returned value as (plain data, kind): tensors become arrays, tuples are taken apart."""
    if value is None:
        return None, "None"
    if value is Ellipsis or value is NotImplemented:
        return None, "unfinished"
    if isinstance(value, (bool, np.bool_)):
        return bool(value), "truth value"
    if isinstance(value, (int, float)) and not isinstance(value, np.generic):
        return value, "number"
    if isinstance(value, str):
        return value, "text"
    if isinstance(value, np.ma.MaskedArray):
        return np.asarray(value), "masked array"
    if isinstance(value, (np.ndarray, np.generic)):
        return np.array(value, subok=False), "array"
    if type(value).__module__.split(".")[0] == "torch" and hasattr(value, "detach"):
        tensor = value.detach().cpu()
        if str(tensor.dtype) == "torch.bfloat16":
            tensor = tensor.float()
        return np.array(tensor.numpy()), "tensor"
    if isinstance(value, tuple) or (isinstance(value, list) and _holds_arrays(value)):
        return _encode_each(value)
    if isinstance(value, list):
        if any(part is Ellipsis for part in value):
            return None, "unfinished"
        try:
            return np.asarray(value, dtype=np.result_type(np.asarray(value))), "list"
        except (ValueError, TypeError):  # not one table: several, or rows of unequal length
            return _encode_each(value)
    if isinstance(value, type):
        return None, "class"
    if isinstance(value, dict):
        parts = {str(key): encode(part) for key, part in value.items()}
        return {k: part[0] for k, part in parts.items()}, {k: part[1] for k, part in parts.items()}
    if callable(value):
        return None, "function"
    return None, type(value).__name__


def _encode_each(values: list | tuple) -> tuple[tuple, tuple]:
    parts = [encode(part) for part in values]
    return tuple(part[0] for part in parts), tuple(part[1] for part in parts)


def _holds_arrays(values: list) -> bool:
    """Is this a list of whole arrays (read as a tuple), not a table written as nested lists?"""
    return any(isinstance(v, np.ndarray) and v.ndim > 0 or hasattr(v, "detach") for v in values)


def unfinished(kind: Any) -> bool:
    """Does the result still hold the stub's `...`?"""
    return kind == "unfinished" or (isinstance(kind, tuple) and any(unfinished(k) for k in kind))


def use(candidate: Any, call: Call, library: str = "numpy") -> Result:
    """Run one call: fresh copies of arguments, no prints, no warnings, limited time."""
    args, kwargs = copy.deepcopy(call.args), copy.deepcopy(call.kwargs)
    if library == "torch":
        args, kwargs = _as_tensors(args), _as_tensors(kwargs)
    before = copy.deepcopy((args, kwargs))
    result = Result()
    try:
        with quiet() as printed, np.errstate(all="ignore"), time_limit(SECONDS_PER_CALL, PATIENCE):
            value, kind = encode(USES[call.how](candidate, args, kwargs, call.options))
            result = Result(value, kind)
    except OutOfTime:
        return Result(timed_out=True)
    except NotImplementedError:
        return Result(kind="unfinished")
    except (Exception, SystemExit) as error:
        result = Result(error=sentence(error), line=_line_of(candidate, error))
    changed = _changed(candidate, before, (args, kwargs))
    return dataclasses.replace(result, printed=printed.used, changed=changed)


def _call(candidate: Callable, args: tuple, kwargs: dict, options: dict) -> Any:
    return candidate(*args, **kwargs)


def _value(candidate: Any, args: tuple, kwargs: dict, options: dict) -> Any:
    """The object itself; a function without arguments is asked for it."""
    return candidate() if inspect.isfunction(candidate) else candidate


def _gradient(candidate: Callable, args: tuple, kwargs: dict, options: dict) -> Any:
    """Gradients of (sum of output * options["grad_output"]) for the arguments in options["of"]."""
    import torch

    args = list(args)
    for index in options["of"]:
        args[index] = args[index].clone().requires_grad_(True)
    output = candidate(*args, **kwargs)
    output = output[0] if isinstance(output, (tuple, list)) else output
    if output is Ellipsis:
        return Ellipsis
    loss = (output * torch.as_tensor(options["grad_output"])).sum()
    wanted = [args[index] for index in options["of"]]
    gradients = torch.autograd.grad(loss, wanted, allow_unused=True)
    return tuple(
        torch.zeros_like(arg) if gradient is None else gradient
        for arg, gradient in zip(wanted, gradients, strict=True)
    )


def _module(candidate: Any, args: tuple, kwargs: dict, options: dict) -> Any:
    """Build options["init"], load options["state"], then call forward once or several times.

    options["calls"], when given, is a list of (args, kwargs) used one after the other on the same
    module; the results come back as a tuple. options["report"] = "parameters" asks for the names
    and shapes of the parameters instead; "gradients" for those of the sum of the squared output,
    by parameter.
    """
    import torch

    module = candidate(*options.get("init", ()), **options.get("init_kwargs", {}))
    if options.get("report") == "parameters":
        return {name: np.array(p.shape) for name, p in sorted(module.named_parameters())}
    dtype = options.get("dtype", "float64")
    module = module.to(getattr(torch, dtype))
    if "state" in options:
        module.load_state_dict(_as_tensors(options["state"]))
    module.train(options.get("train", False))

    def result(args: tuple, kwargs: dict) -> Any:
        output = module(*args, **kwargs)
        if options.get("report") != "gradients" or not hasattr(output, "square"):
            return output
        parameters = dict(module.named_parameters())
        loss = output.square().sum() + sum(0 * p.sum() for p in parameters.values())
        gradients = torch.autograd.grad(loss, list(parameters.values()))
        return dict(zip(parameters, gradients, strict=True))

    if "calls" in options:
        return tuple(result(_as_tensors(a), _as_tensors(k)) for a, k in options["calls"])
    return result(args, kwargs)


USES: dict[str, Callable] = {
    "call": _call,
    "value": _value,
    "gradient": _gradient,
    "module": _module,
}


def _as_tensors(value: Any) -> Any:
    """Arrays, also inside tuples, lists and dicts, as torch tensors."""
    import torch

    if isinstance(value, np.ndarray):
        return torch.from_numpy(np.array(value))
    if isinstance(value, (tuple, list)):
        return type(value)(_as_tensors(part) for part in value)
    if isinstance(value, dict):
        return {key: _as_tensors(part) for key, part in value.items()}
    return value


def sentence(error: BaseException) -> str:
    """An exception in one line."""
    first = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def _line_of(candidate: Any, error: BaseException) -> str | None:
    """The last line of the reader's own code on the way to the error."""
    code = getattr(inspect.unwrap(candidate), "__code__", None) if callable(candidate) else None
    own_file = code.co_filename if code else None
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename == own_file or "ipykernel" in frame.filename:
            return (
                frame.line or linecache.getline(frame.filename, frame.lineno or 0)
            ).strip() or None
    return None


def _changed(candidate: Any, before: tuple, after: tuple) -> tuple[str, ...]:
    """Names of array arguments whose content is not what it was."""
    pairs = list(zip(before[0], after[0], strict=True))
    pairs += [(before[1][key], after[1][key]) for key in before[1]]
    try:
        names = list(inspect.signature(candidate).parameters)[: len(before[0])]
    except (TypeError, ValueError):
        names = []
    names += [f"argument {n + 1}" for n in range(len(names), len(before[0]))] + list(before[1])
    return tuple(
        name for name, (old, new) in zip(names, pairs, strict=True) if not _identical(old, new)
    )


def _identical(old: Any, new: Any) -> bool:
    if hasattr(old, "detach"):
        old, new = old.detach().cpu().numpy(), new.detach().cpu().numpy()
    if isinstance(old, np.ndarray):
        return old.shape == new.shape and np.array_equal(old, new, equal_nan=old.dtype.kind == "f")
    if isinstance(old, (tuple, list)):
        return len(old) == len(new) and all(_identical(a, b) for a, b in zip(old, new, strict=True))
    return True


def describe(candidate: Any) -> dict[str, Any]:
    """What a candidate is, in plain data: its kind, type and name, and the variables it reads."""
    if candidate is Ellipsis:
        kind = "unfinished"
    elif isinstance(candidate, type):
        kind = "class"
    else:
        kind = "callable" if callable(candidate) else "value"
    types = {"ndarray": "array", "Tensor": "tensor", "NoneType": "None"}
    type_name = type(candidate).__name__
    return {
        "kind": kind,
        "type": types.get(type_name, type_name),
        "name": str(getattr(candidate, "__name__", "")),
        "globals": _globals_read(candidate),
    }


def _globals_read(candidate: Any) -> list[str]:
    """Names of notebook variables holding data (not modules, functions, classes) that it reads."""
    code = getattr(candidate, "__code__", None)
    if code is None:
        return []
    scope = candidate.__globals__
    codes = [code, *(const for const in code.co_consts if inspect.iscode(const))]
    names = {
        step.argval
        for part in codes
        for step in dis.get_instructions(part)
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME") and step.argval in scope  # no attributes
    }
    return sorted(
        name
        for name in names
        if isinstance(scope[name], (np.ndarray, list, tuple, dict))
        or (hasattr(scope[name], "detach") and not inspect.ismodule(scope[name]))  # torch.detach
    )
