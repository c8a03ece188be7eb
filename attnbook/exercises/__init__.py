"""The course's exercises: find one by id, grade an answer.

outcome = grade("softmax", candidate)
outcome.status    "not attempted" | "passed" | "failed" | "error"
outcome.mistake   name of the recognised mistake, or None
outcome.message   what a student reads
"""

from __future__ import annotations

import difflib
import functools
import importlib
from typing import Any

from attnbook.exercises.exercise import Exercise, Outcome

# Chapter slug -> (module, ids in order). Written out so that looking up a NumPy exercise never
# imports a chapter that needs torch; a test keeps it equal to what the modules define.
CHAPTERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "00-start-here": ("ch00_start_here", ("dot", "read_weights", "result_shape")),
    "01-dot-products": (
        "ch01_dot_products",
        ("dot_scores", "cosine_scores", "disagreeing_vectors", "one_hot"),
    ),
    "02-softmax": (
        "ch02_softmax",
        ("softmax", "log_sum_exp", "softmax_jacobian", "temperature_for"),
    ),
    "03-soft-lookup": (
        "ch03_soft_lookup",
        ("soft_lookup", "restore_pairs", "kernel_regression", "leave_one_out_error"),
    ),
    "04-self-attention": (
        "ch04_self_attention",
        ("self_attention_loop", "self_attention", "undo_shuffle", "copy_previous"),
    ),
    "05-queries-keys-values": (
        "ch05_queries_keys_values",
        ("project_qkv", "single_head", "split_product", "head_parameters"),
    ),
    "06-scaling": (
        "ch06_scaling",
        ("scaled_scores", "predicted_std", "calm_vectors", "qk_norm_scores"),
    ),
    "07-masks": (
        "ch07_masks",
        (
            "padding_mask",
            "causal_mask",
            "boolean_to_additive",
            "scaled_dot_product_attention",
            "first_moved",
        ),
    ),
    "08-batches-and-gradients": (
        "ch08_batches_and_gradients",
        (
            "batched_attention",
            "split_heads",
            "merge_heads",
            "attention_backward",
            "repaired_layer",
        ),
    ),
    "09-multi-head-attention": (
        "ch09_multi_head_attention",
        ("multi_head_attention", "MultiHeadSelfAttention", "from_module_state", "ablate_head"),
    ),
    "11-bank-and-dragon": (
        "ch11_bank_and_dragon",
        (
            "contrast_sentences",
            "probe_accuracy",
            "cut_edge",
            "weights_without_edge",
            "heavy_but_idle",
        ),
    ),
    "12-recurrence-or-attention": (
        "ch12_recurrence_or_attention",
        (
            "matching_width",
            "sequential_steps",
            "weights_bytes",
            "fit_exponent",
            "fair_comparison",
        ),
    ),
}


def ids() -> list[str]:
    """All exercise ids, in the order of the course."""
    return [exercise_id for _, names in CHAPTERS.values() for exercise_id in names]


@functools.cache
def get(exercise_id: str) -> Exercise:
    """The exercise of that id; KeyError with the nearest ids if there is none."""
    for module, names in CHAPTERS.values():
        if exercise_id in names:
            exercises = importlib.import_module(f"attnbook.exercises.{module}").EXERCISES
            return next(exercise for exercise in exercises if exercise.id == exercise_id)
    near = difflib.get_close_matches(str(exercise_id), ids(), n=3)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    raise KeyError(f"There is no exercise named {exercise_id!r}.{hint}")


def in_chapter(slug: str) -> list[Exercise]:
    """The exercises of a chapter, in order; an empty list if it has none."""
    return [get(exercise_id) for exercise_id in CHAPTERS.get(slug, ("", ()))[1]]


def grade(exercise_id: str, candidate: Any, seed: int = 0) -> Outcome:
    """Grade a candidate on cases drawn from `seed`. Never raises for what the candidate does.

    The question is the chapter's own; `Exercise.varied` gives it other numbers.
    """
    from attnbook.exercises import engine

    return engine.grade(get(exercise_id), candidate, seed)
