"""Right answers to chapter 4 written in ways a check must not reject."""

import functools
import math

import numpy as np

from attnbook.exercises.ch04_self_attention import copy_previous
from attnbook.numpy_attention import dot_scores, log_sum_exp, self_attention, soft_lookup, softmax


def kind(x):
    return x.dtype if x.dtype.kind == "f" else np.dtype(float)


def loop_by_hand(x):
    n, d = x.shape
    rows = []
    for i in range(n):
        scores = []
        for j in range(n):
            total = 0.0
            for k in range(d):
                total += float(x[i, k]) * float(x[j, k])
            scores.append(total)
        top = max(scores)
        exponentials = [math.exp(s - top) for s in scores]
        weights = [e / sum(exponentials) for e in exponentials]
        rows.append([sum(w * float(x[j, k]) for j, w in enumerate(weights)) for k in range(d)])
    return np.array(rows, dtype=kind(x))


def loop_lookup(x):
    return np.stack([soft_lookup(token, x, x) for token in x])


def loop_list(x):
    return np.array([softmax(np.array([a @ b for b in x])) @ x for a in x])


def loop_backwards(x):
    output = np.empty(x.shape, kind(x))
    for i in reversed(range(len(x))):
        output[i] = softmax(x @ x[i]) @ x
    return output


def loop_append(x):
    output = []
    for token in x:
        weights = softmax(x @ token)
        mixture = 0 * token
        for weight, other in zip(weights, x, strict=True):
            mixture = mixture + weight * other
        output.append(mixture)
    return np.vstack(output)


def loop_on_a_copy_of_the_input(x):
    output = x.astype(kind(x))
    original = output.copy()
    for i in range(len(x)):
        output[i] = softmax(original @ original[i]) @ original
    return output


def loop_over_pairs_first(x):
    n = len(x)
    scores = {(i, j): x[i] @ x[j] for i in range(n) for j in range(n)}
    weights = [softmax(np.array([scores[i, j] for j in range(n)])) for i in range(n)]
    return np.stack([np.sum([w * t for w, t in zip(row, x, strict=True)], 0) for row in weights])


def matrix_einsum(x):
    weights = softmax(np.einsum("id,jd->ij", x, x))
    return np.einsum("ij,jd->id", weights, x)


def matrix_axis_zero_turned(x):
    """Columns normalised, and then turned: rows that sum to one again."""
    return softmax(x @ x.T, axis=0).T @ x


def matrix_scores_turned(x):
    return softmax((x @ x.T).T, axis=1) @ x


def matrix_all_turned(x):
    return (x.T @ softmax(x @ x.T, axis=-1).T).T


def matrix_through_log(x):
    scores = dot_scores(x, x)
    return (np.exp(scores - log_sum_exp(scores)[:, None]) @ x).astype(kind(x))


def matrix_own_softmax(x):
    scores = x @ x.T
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return (e @ x) / e.sum(axis=1, keepdims=True)


def matrix_broadcast(x):
    scores = (x[:, None, :] * x[None, :, :]).sum(-1)
    return (softmax(scores)[:, :, None] * x[None]).sum(1)


def matrix_distances(x):
    """Half the squared distance, with the length of the key put back."""
    x = np.asarray(x, dtype=kind(x))
    squares = ((x[:, None] - x[None]) ** 2).sum(-1)
    return softmax((x * x).sum(-1) / 2 - squares / 2) @ x


def matrix_swapaxes(x):
    return np.matmul(softmax(np.matmul(x, np.swapaxes(x, -1, -2))), x)


def matrix_three_names(x):
    queries = keys = values = x
    return softmax(queries @ keys.T) @ values


def matrix_wider(x):
    wide = np.asarray(x, np.float64)
    return (softmax(wide @ wide.T) @ wide).astype(kind(x))


def matrix_prints(x):
    print(x)
    return self_attention(x)


def matrix_inner(x):
    return np.dot(softmax(np.inner(x, x)), x)


class Attention:
    """A callable object is a function for all a check can tell."""

    def __call__(self, x):
        return self_attention(x)


def undo_argsort(shuffled, order):
    return shuffled[np.argsort(order)]


def undo_loop(shuffled, order):
    original = np.zeros(shuffled.shape, shuffled.dtype)
    for i in range(len(order)):
        original[order[i]] = shuffled[i]
    return original


def undo_search(shuffled, order):
    places = list(order)
    return np.stack([shuffled[places.index(i)] for i in range(len(places))])


def undo_matrix(shuffled, order):
    return (np.eye(len(order))[order].T @ shuffled).astype(shuffled.dtype)


def undo_dictionary(shuffled, order):
    rows = dict(zip(order.tolist(), shuffled, strict=True))
    return np.array([rows[i] for i in sorted(rows)])


def undo_where(shuffled, order):
    return shuffled[[int(np.where(order == i)[0][0]) for i in range(len(order))]]


def undo_repeat(shuffled, order):
    """Shuffle on and on: the order comes round to where it began."""
    current, places = shuffled, order
    while not (places == np.arange(len(order))).all():
        current, places = current[order], places[order]
    return current.copy()


def copy_roll(n):
    return 50 * np.roll(np.eye(n), 1, axis=0), np.eye(n)


def copy_shifted_keys(n):
    return np.eye(n) * 40, np.roll(np.eye(n), -1, axis=0)


def copy_row_of_zeros(n):
    return 100 * np.eye(n, k=-1), np.eye(n)


def copy_circle(n):
    angle = 2 * np.pi * np.arange(n) / n
    around = np.column_stack([np.cos(angle), np.sin(angle)])
    gap = 1 - math.cos(2 * math.pi / n)
    return 40 / gap * np.roll(around, 1, axis=0), around


def copy_parabola(n):
    place = np.arange(n)
    wanted = place - 1
    queries = 30 * np.column_stack([2 * wanted, -np.ones(n)])
    return queries, np.column_stack([place, place**2])


def copy_random_keys(n):
    keys = np.random.default_rng().normal(size=(n, 400))
    keys /= np.linalg.norm(keys, axis=1, keepdims=True)
    return 100 * keys[np.arange(n) - 1], keys


def copy_both_large(n):
    return 10 * np.eye(n, k=-1), 10 * np.eye(n)


def copy_lists(n):
    queries = [[60.0 if j == i - 1 else 0.0 for j in range(n)] for i in range(n)]
    keys = [[1.0 if j == i else 0.0 for j in range(n)] for i in range(n)]
    return queries, keys


def copy_loop(n):
    queries, keys = np.zeros((n, n + 3)), np.zeros((n, n + 3))
    for i in range(n):
        keys[i, i] = 1
        if i > 0:
            queries[i, i - 1] = 30
    return queries, keys


def copy_whole_numbers(n):
    return 100 * np.eye(n, k=-1, dtype=int), np.eye(n, dtype=int)


def copy_negative(n):
    return -100 * (1 - np.eye(n, k=-1)), np.eye(n)


def copy_float32(n):
    queries, keys = copy_previous(n)
    return queries.astype(np.float32), keys.astype(np.float32)


def copy_stacked(n):
    return np.stack(copy_previous(n))


LOOPS = [
    loop_by_hand,
    loop_lookup,
    loop_list,
    loop_backwards,
    loop_append,
    loop_on_a_copy_of_the_input,
    loop_over_pairs_first,
]
RIGHT = {
    "self_attention_loop": [*LOOPS, self_attention, matrix_einsum],
    "self_attention": [
        *LOOPS,
        matrix_einsum,
        matrix_axis_zero_turned,
        matrix_scores_turned,
        matrix_all_turned,
        matrix_through_log,
        matrix_own_softmax,
        matrix_broadcast,
        matrix_distances,
        matrix_swapaxes,
        matrix_three_names,
        matrix_wider,
        matrix_prints,
        matrix_inner,
        Attention(),
        functools.partial(self_attention),
    ],
    "undo_shuffle": [
        undo_argsort,
        undo_loop,
        undo_search,
        undo_matrix,
        undo_dictionary,
        undo_where,
        undo_repeat,
    ],
    "copy_previous": [
        copy_roll,
        copy_shifted_keys,
        copy_row_of_zeros,
        copy_circle,
        copy_parabola,
        copy_random_keys,
        copy_both_large,
        copy_lists,
        copy_loop,
        copy_whole_numbers,
        copy_negative,
        copy_float32,
        copy_stacked,
    ],
}
