"""The training loop of the course: a batch, its loss, a step; and word of how it goes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
import torch
from matplotlib.axes import Axes
from torch import Tensor, nn

from attnbook.figures import curves
from attnbook.progress import is_quiet, progress_bar

TIMED = 10  # steps, from which the time for all of them is foretold


class Training:
    """Train a model; look at it, stop it and go on as you like.

    Training(model, batch_loss).run(400)

    batch_loss(model): draws a fresh batch, returns its loss, a tensor with one number.
    score(model): a number that grows as the model gets better, measured every `every` steps without
    gradients; once it reaches `goal` the training stops early.
    lr: learning rate of AdamW (Loshchilov and Hutter 2019), without weight decay; or give an
    `optimizer`. clip: gradients longer than this are shortened to it (Pascanu et al. 2013).
    Raises ValueError when `every` is below 1.
    Afterwards: step, losses (one a step), scores {step: score}, seconds, stopped (why it ended).
    """

    def __init__(
        self,
        model: nn.Module,
        batch_loss: Callable[[nn.Module], Tensor],
        *,
        lr: float = 3e-3,
        optimizer: torch.optim.Optimizer | None = None,
        clip: float = 1.0,
        score: Callable[[nn.Module], float] | None = None,
        goal: float = math.inf,
        every: int = 25,
    ):
        if every < 1:
            raise ValueError(f"every must be 1 or more, a number of steps; got {every}.")
        self.model, self.batch_loss, self.score = model, batch_loss, score
        self.goal, self.every, self.clip = goal, every, clip
        self.optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr, weight_decay=0.0)
        self.step, self.seconds, self.stopped = 0, 0.0, "not begun"
        self.losses: list[float] = []
        self.scores: dict[int, float] = {}

    def run(self, steps: int) -> Training:
        """Train until `steps` steps are done in all: after an interrupt, run(steps) goes on.

        Raises ValueError for a loss that is not one finite number.
        """
        bar = progress_bar(steps, unit="step", done=self.step)
        begun, first = time.perf_counter(), self.step
        self.stopped = "failed"
        self.model.train()
        try:
            while self.step < steps and not self._reached():
                self._take_step()
                bar.update()
                if self.step == first + TIMED:
                    _foretell(steps - first, (time.perf_counter() - begun) / TIMED)
                if self.step % self.every == 0 or self.step == steps:
                    self._measure()
                    bar.set_postfix_str(self._now())
            self.stopped = "goal reached" if self._reached() else "all steps done"
        except KeyboardInterrupt:
            self.stopped = "interrupted"
            print(f"Interrupted after step {self.step} of {steps}; run({steps}) goes on from here.")
        finally:
            bar.close()
            self.seconds += time.perf_counter() - begun
        return self

    def _take_step(self) -> None:
        loss = self.batch_loss(self.model)
        if not isinstance(loss, Tensor) or loss.numel() != 1:
            got = f"shape {tuple(loss.shape)}" if isinstance(loss, Tensor) else type(loss).__name__
            raise ValueError(f"batch_loss must return a tensor with one number; got {got}.")
        if not math.isfinite(loss.item()):
            raise ValueError(
                f"The loss is {loss.item()} at step {self.step + 1}. The usual causes: a learning "
                "rate that is too high, or a row of the softmax where everything is masked."
            )
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.optimizer.step()
        self.losses.append(loss.item())
        self.step += 1

    def _measure(self) -> None:
        if self.score is not None:
            self.model.eval()
            with torch.no_grad():
                self.scores[self.step] = float(self.score(self.model))
            self.model.train()

    def _reached(self) -> bool:
        return bool(self.scores) and list(self.scores.values())[-1] >= self.goal

    def _now(self) -> str:
        score = f", score {list(self.scores.values())[-1]:.3f}" if self.scores else ""
        return f"loss {np.mean(self.losses[-self.every :]):.3f}{score}"

    def learning_curve(self, **options) -> Axes:
        """Draw the loss, averaged over every `every` steps. Options are those of figures.curves.

        Raises ValueError before the first `every` steps are done.
        """
        if self.step < self.every:
            raise ValueError(f"There is no curve yet: train at least {self.every} steps.")
        blocks = self.step // self.every
        loss = np.reshape(self.losses[: blocks * self.every], (blocks, self.every)).mean(axis=1)
        steps = self.every * np.arange(1, blocks + 1)
        return curves(steps, {"loss": loss}, **{"xlabel": "step", "ylabel": "loss", **options})


def _foretell(steps: int, seconds_per_step: float) -> None:
    if not is_quiet():
        print(f"{steps} steps take about {max(1, round(steps * seconds_per_step))} s here.")
