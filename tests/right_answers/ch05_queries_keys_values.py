"""Right answers to chapter 5 written in ways a check must not reject."""

import functools

import numpy as np

from attnbook.exercises.ch05_queries_keys_values import single_head, split_product
from attnbook.numpy_attention import project_qkv as library_project_qkv
from attnbook.numpy_attention import softmax


def project_einsum(x, w_q, w_k, w_v):
    return tuple(np.einsum("nd,dk->nk", x, w) for w in (w_q, w_k, w_v))


def project_loop(x, w_q, w_k, w_v):
    results = []
    for w in (w_q, w_k, w_v):
        out = np.zeros((len(x), w.shape[1]), dtype=x.dtype)
        for i in range(len(x)):
            for c in range(w.shape[1]):
                total = 0.0
                for f in range(x.shape[1]):
                    total += float(x[i, f]) * float(w[f, c])
                out[i, c] = total
        results.append(out)
    return results[0], results[1], results[2]


def project_fused(x, w_q, w_k, w_v):
    together = x @ np.concatenate([w_q, w_k, w_v], axis=1)
    d_k = w_q.shape[1]
    return np.split(together, [d_k, 2 * d_k], axis=1)


def project_row_by_row(x, w_q, w_k, w_v):
    return (
        np.stack([token @ w_q for token in x]),
        np.stack([token @ w_k for token in x]),
        np.stack([token @ w_v for token in x]),
    )


def project_sum_of_rows(x, w_q, w_k, w_v):
    def send(w):
        return (x[:, :, None] * w[None]).sum(axis=1).astype(x.dtype)

    return send(w_q), send(w_k), send(w_v)


def project_columns_first(x, w_q, w_k, w_v):
    return (w_q.T @ x.T).T, (w_k.T @ x.T).T, (w_v.T @ x.T).T


def project_matmul(x, w_q, w_k, w_v):
    return np.matmul(x, w_q), np.dot(x, w_k), x.dot(w_v)


def project_tensordot(x, w_q, w_k, w_v):
    return [np.tensordot(x, w, axes=1) for w in (w_q, w_k, w_v)]


def project_renamed(tokens, query_matrix, key_matrix, value_matrix):
    query = tokens @ query_matrix
    key = tokens @ key_matrix
    value = tokens @ value_matrix
    return query, key, value


def project_layers(x, w_q, w_k, w_v):
    def send(w):
        return sum(np.outer(x[:, f], w[f]) for f in range(x.shape[1]))

    return send(w_q), send(w_k), send(w_v)


def project_prints(x, w_q, w_k, w_v):
    print(x.shape, w_q.shape)
    return library_project_qkv(x, w_q, w_k, w_v)


def head_one_line(x, w_q, w_k, w_v):
    return softmax((x @ w_q) @ (x @ w_k).T) @ (x @ w_v)


def head_by_the_product(x, w_q, w_k, w_v):
    return softmax(x @ (w_q @ w_k.T) @ x.T) @ x @ w_v


def head_values_last(x, w_q, w_k, w_v):
    return (softmax(x @ w_q @ w_k.T @ x.T) @ x) @ w_v


def head_loop(x, w_q, w_k, w_v):
    q, k, v = library_project_qkv(x, w_q, w_k, w_v)
    output = np.zeros_like(v)
    for i in range(len(x)):
        weights = softmax(np.array([q[i] @ key for key in k]))
        for weight, value in zip(weights, v, strict=True):
            output[i] += weight * value
    return output


def head_einsum(x, w_q, w_k, w_v):
    q, k, v = (np.einsum("nd,dk->nk", x, w) for w in (w_q, w_k, w_v))
    weights = softmax(np.einsum("ik,jk->ij", q, k))
    return np.einsum("ij,jv->iv", weights, v)


def head_keys_ask_first(x, w_q, w_k, w_v):
    q, k, v = library_project_qkv(x, w_q, w_k, w_v)
    return softmax(k @ q.T, axis=0).T @ v


def head_own_softmax(x, w_q, w_k, w_v):
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    scores = q @ k.T
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return (e @ v) / e.sum(axis=1, keepdims=True)


def head_shifted_by_the_whole_row_mean(x, w_q, w_k, w_v):
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    return softmax(q @ (k - k.mean(axis=0)).T) @ v


def head_token_by_token(x, w_q, w_k, w_v):
    return np.stack([softmax((x @ w_k) @ (token @ w_q)) @ (x @ w_v) for token in x])


def head_wider_inside(x, w_q, w_k, w_v):
    wide = [part.astype(np.float64) for part in (x, w_q, w_k, w_v)]
    return single_head(*wide).astype(x.dtype)


def head_through_logarithms(x, w_q, w_k, w_v):
    scores = x @ w_q @ (x @ w_k).T
    largest = scores.max(axis=-1, keepdims=True)
    total = np.log(np.exp(scores - largest).sum(axis=-1, keepdims=True)) + largest
    return np.exp(scores - total) @ (x @ w_v)


def head_fused(x, w_q, w_k, w_v):
    d_k = w_q.shape[1]
    together = x @ np.hstack([w_q, w_k, w_v])
    q, k, v = together[:, :d_k], together[:, d_k : 2 * d_k], together[:, 2 * d_k :]
    return (v.T @ softmax(q @ k.T).T).T


def split_strength_on_keys(product, d_k):
    left, strengths, right = np.linalg.svd(product)
    return left[:, :d_k], (strengths[:d_k, None] * right[:d_k]).T


def split_roots(product, d_k):
    left, strengths, right = np.linalg.svd(product, full_matrices=False)
    root = np.sqrt(strengths[:d_k])
    return left[:, :d_k] * root, right.T[:, :d_k] * root


def split_turned_by_anything(product, d_k):
    w_q, w_k = split_product(product, d_k)
    mix = np.random.default_rng(3).normal(size=(d_k, d_k)) + 3 * np.eye(d_k)
    return w_q @ mix, w_k @ np.linalg.inv(mix).T


def split_eigenvectors(product, d_k):
    _, vectors = np.linalg.eigh(product @ product.T)  # ascending
    w_q = vectors[:, ::-1][:, :d_k]
    return w_q, product.T @ w_q


def split_project_on_range(product, d_k):
    basis = np.linalg.svd(product)[0][:, :d_k]
    return basis, (basis.T @ product).T


def split_peeling(product, d_k):
    """Take off one layer after the other, each through the largest number that is left."""
    rest, columns, rows = product.copy(), [], []
    for _ in range(d_k):
        i, j = np.unravel_index(np.abs(rest).argmax(), rest.shape)
        if abs(rest[i, j]) < 1e-9:
            columns.append(np.zeros(len(rest)))
            rows.append(np.zeros(len(rest)))
            continue
        columns.append(rest[:, j].copy())
        rows.append(rest[i] / rest[i, j])
        rest = rest - np.outer(columns[-1], rows[-1])
    return np.stack(columns, axis=1), np.stack(rows, axis=1)


def split_list(product, d_k):
    return list(split_product(product, d_k))


def split_signs(product, d_k):
    w_q, w_k = split_product(product, d_k)
    return -w_q[:, ::-1], -w_k[:, ::-1]


RIGHT = {
    "project_qkv": [
        project_einsum,
        project_loop,
        project_fused,
        project_row_by_row,
        project_sum_of_rows,
        project_columns_first,
        project_matmul,
        project_tensordot,
        project_renamed,
        project_layers,
        project_prints,
        library_project_qkv,
        functools.partial(library_project_qkv),
        lambda x, *matrices: tuple(x @ w for w in matrices),
    ],
    "single_head": [
        head_one_line,
        head_by_the_product,
        head_values_last,
        head_loop,
        head_einsum,
        head_keys_ask_first,
        head_own_softmax,
        head_shifted_by_the_whole_row_mean,
        head_token_by_token,
        head_wider_inside,
        head_through_logarithms,
        head_fused,
    ],
    "split_product": [
        split_strength_on_keys,
        split_roots,
        split_turned_by_anything,
        split_eigenvectors,
        split_project_on_range,
        split_peeling,
        split_list,
        split_signs,
    ],
    "head_parameters": [
        39000,
        39000.0,
        np.int64(39000),
        np.array(39000),
        300 * (40 + 40 + 50),
        "39000",
    ],
}
