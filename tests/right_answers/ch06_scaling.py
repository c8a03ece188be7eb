"""Right answers to chapter 6 written in ways a check must not reject."""

import functools
import math
import statistics

import numpy as np

from attnbook.exercises.ch06_scaling import predicted_std as by_formula
from attnbook.numpy_attention import cosine_scores
from attnbook.numpy_attention import scaled_scores as library


def _kind(query):
    return query.dtype if query.dtype.kind == "f" else np.float64


def scale_on_the_query(query, key):
    return (query / math.sqrt(query.shape[-1])) @ key.T


def scale_on_the_key(query, key):
    return query @ (key.T * key.shape[1] ** -0.5)


def scale_on_both(query, key):
    fourth_root = query.shape[-1] ** 0.25
    return (query / fourth_root) @ (key / fourth_root).T


def with_einsum(query, key):
    return np.einsum("qd,kd->qk", query, key) / query.shape[1] ** 0.5


def with_loops(query, key):
    scores = np.zeros((len(query), len(key)), dtype=_kind(query))
    for i, q in enumerate(query):
        for j, k in enumerate(key):
            scores[i, j] = sum(a * b for a, b in zip(q, k, strict=True)) / math.sqrt(len(q))
    return scores


def with_a_list(query, key):
    rows = [[float(np.dot(q, k)) / len(q) ** 0.5 for k in key] for q in query]
    return np.array(rows, dtype=_kind(query))


def by_broadcasting(query, key):
    return (query[:, None] * key[None]).sum(-1) / math.sqrt(query.shape[-1])


def wider_inside(query, key):
    wide = query.astype(np.float64) @ key.T.astype(np.float64) / np.sqrt(query.shape[-1])
    return wide.astype(_kind(query))


def root_in_the_type(query, key):
    return query @ key.T / np.sqrt(query.shape[-1], dtype=_kind(query))


def turned_at_the_end(query, key):
    return (key @ query.T / math.sqrt(key.shape[-1])).T


def with_swapaxes(query, key):
    return np.matmul(query, np.swapaxes(key, -1, -2)) * (1 / math.sqrt(query.shape[-1]))


def through_the_length_of_ones(query, key):
    ones = np.ones(query.shape[-1])
    return query @ key.T / float(np.linalg.norm(ones))


def in_place_on_its_own_array(query, key):
    scores = (query @ key.T).astype(_kind(query))
    scores /= math.sqrt(query.shape[-1])
    return scores


def with_tensordot(query, key):
    return np.tensordot(query, key, axes=(1, 1)) / math.pow(query.shape[1], 0.5)


def through_cosines(query, key):
    wide_q, wide_k = query.astype(float), key.astype(float)
    lengths = np.outer(np.linalg.norm(wide_q, axis=1), np.linalg.norm(wide_k, axis=1))
    return (cosine_scores(wide_q, wide_k) * lengths / len(query[0]) ** 0.5).astype(_kind(query))


class Scaled:
    """A callable object is a function for all a check can tell."""

    def __call__(self, query, key):
        return query @ key.T / math.sqrt(query.shape[-1])


def std_in_one_line(d_k, sigma_q, sigma_k):
    return np.sqrt(d_k) * sigma_q * sigma_k


def std_by_steps(d_k, sigma_q, sigma_k):
    variance = 0.0
    for _ in range(d_k):
        variance += sigma_q**2 * sigma_k**2
    return variance**0.5


def std_as_a_length(d_k, sigma_q, sigma_k):
    return np.linalg.norm(np.full(d_k, sigma_q * sigma_k))


def std_from_coins(d_k, sigma_q, sigma_k):
    """Two values, plus and minus, with exactly these standard deviations."""
    pairs = [q * k for q in (-sigma_q, sigma_q) for k in (-sigma_k, sigma_k)]
    return np.array(math.sqrt(d_k * statistics.pvariance(pairs)))


def _pair(query_size, key_size, seed=3):
    rng = np.random.default_rng(seed)
    return query_size * rng.normal(size=(32, 256)), key_size * rng.normal(size=(48, 256))


def calm_queries_alone():
    return _pair(1 / 16, 1)


def calm_keys_alone():
    return list(_pair(1, 1 / 16, seed=4))


def calm_evenly():
    side = math.sqrt(3) / 4
    rng = np.random.default_rng(0)
    return rng.uniform(-side, side, (32, 256)), rng.uniform(-side, side, (48, 256))


def calm_coins():
    rng = np.random.default_rng(0)
    return rng.choice([-1.0, 1.0], (32, 256)), rng.choice([-1.0, 1.0], (48, 256)) / 16


def calm_narrow():
    """Only 4 of the 256 numbers are used."""
    queries, keys = _pair(1, 0.5, seed=5)
    queries[:, 4:] = 0
    scores = queries @ keys.T
    return queries, keys / scores.std()


def calm_measured():
    queries, keys = _pair(1, 1, seed=6)
    return queries, keys / (queries @ keys.T).std()


def calm_float32():
    return tuple(part.astype(np.float32) for part in _pair(0.25, 0.25, seed=7))


def calm_long_directions():
    queries, keys = _pair(1, 1, seed=8)
    return tuple(4 * part / np.linalg.norm(part, axis=1, keepdims=True) for part in (queries, keys))


def norm_through_cosines(query, key, scale):
    return cosine_scores(query, key) * scale


def norm_of_the_scores(query, key, scale):
    lengths = np.sqrt((query**2).sum(-1))[:, None] * np.sqrt((key**2).sum(-1))[None]
    return query @ key.T / lengths * scale


def norm_with_loops(query, key, scale):
    scores = np.empty((len(query), len(key)), query.dtype)
    for i in range(len(query)):
        for j in range(len(key)):
            q, k = query[i], key[j]
            scores[i, j] = scale * float(q @ k) / math.sqrt(float(q @ q) * float(k @ k))
    return scores


def norm_scale_shared(query, key, scale):
    def unit(rows):
        return rows / np.sqrt(np.einsum("nd,nd->n", rows, rows))[:, None]

    return (unit(query) * scale**0.5) @ (unit(key) * scale**0.5).T


def norm_with_epsilon(query, key, scale):
    q = query / (np.linalg.norm(query, axis=1, keepdims=True) + 1e-12)
    k = key / np.maximum(np.linalg.norm(key, axis=1, keepdims=True), 1e-12)
    return scale * np.einsum("qd,kd->qk", q, k)


def norm_twice(query, key, scale):
    """By the root mean square first, then the rest of the length."""
    q = query / np.sqrt(np.mean(query**2, axis=-1, keepdims=True))
    k = key / np.sqrt(np.mean(key**2, axis=-1, keepdims=True))
    return scale * (q @ k.T) / query.shape[-1]


RIGHT = {
    "scaled_scores": [
        scale_on_the_query,
        scale_on_the_key,
        scale_on_both,
        with_einsum,
        with_loops,
        with_a_list,
        by_broadcasting,
        wider_inside,
        root_in_the_type,
        turned_at_the_end,
        with_swapaxes,
        through_the_length_of_ones,
        in_place_on_its_own_array,
        with_tensordot,
        through_cosines,
        Scaled(),
        library,
        functools.partial(library),
    ],
    "predicted_std": [
        std_in_one_line,
        std_by_steps,
        std_as_a_length,
        std_from_coins,
        lambda d_k, sigma_q, sigma_k: by_formula(sigma_q=sigma_q, sigma_k=sigma_k, d_k=d_k),
        lambda d_k, sigma_q, sigma_k: np.float32(by_formula(d_k, sigma_q, sigma_k)),
    ],
    "calm_vectors": [
        calm_queries_alone(),
        [table.tolist() for table in calm_evenly()],
        calm_keys_alone(),
        calm_evenly(),
        calm_coins(),
        calm_narrow(),
        calm_measured(),
        calm_float32(),
        calm_long_directions(),
        calm_queries_alone,
    ],
    "qk_norm_scores": [
        norm_through_cosines,
        norm_of_the_scores,
        norm_with_loops,
        norm_scale_shared,
        norm_with_epsilon,
        norm_twice,
    ],
}
