"""The recall task: one thing is named first, much else follows, then it is asked for.

    crown rain sheep hill … night smoke ?        answer: crown

Things and filler are words of their own kinds, so the thing can be found by what it is as well as
by where it stands. Only the distance makes the task hard.
"""

from __future__ import annotations

import numpy as np

THINGS = ("gold", "ring", "crown", "sword", "harp", "cup", "lamp", "book")
FILLER = ("rain", "wind", "night", "sheep", "smoke", "hill", "stone", "river")
VOCABULARY = (*THINGS, *FILLER, "?")  # a token is a place in this list
QUESTION = VOCABULARY.index("?")
CHANCE = 1 / len(THINGS)


def recall(count: int, distance: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw texts in which the question stands `distance` places after the thing.

    Returns tokens (count, distance + 1) and answers (count,), int64; an answer is a token too.
    The things are shared out evenly: each occurs equally often, give or take one. Filler is drawn
    independently, so it says nothing about the answer.
    Raises ValueError when distance is below 1.
    """
    if distance < 1:
        raise ValueError(
            f"the question comes after the thing: distance is {distance}, not 1 or more"
        )
    answers = rng.permutation(np.arange(count) % len(THINGS))  # (count,)
    tokens = rng.integers(len(THINGS), QUESTION, size=(count, distance + 1))  # filler everywhere
    tokens[:, 0] = answers
    tokens[:, -1] = QUESTION
    return tokens, answers


def in_words(tokens: np.ndarray) -> str:
    """One text (n,) as a reader would see it."""
    return " ".join(VOCABULARY[token] for token in tokens)
