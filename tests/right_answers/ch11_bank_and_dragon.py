"""Right answers to chapter 11 written in ways a check must not reject."""

import itertools

import numpy as np
import torch

from attnbook.exercises.ch11_bank_and_dragon import contrast_sentences as by_loops
from attnbook.exercises.ch11_bank_and_dragon import cut_edge as by_index
from attnbook.numpy_attention import softmax


def by_product(creatures, things, links, creature_verbs, thing_verbs):
    sort = dict.fromkeys(creature_verbs, 0) | dict.fromkeys(thing_verbs, 1)
    return [
        (f"the {pair[flip]} {link} the {pair[1 - flip]} , and it {verb} .", pair[sort[verb]])
        for flip in (0, 1)
        for pair in itertools.product(creatures, things)
        for link in links
        for verb in sort
    ]


def as_lists(*lists):
    return [[sentence, noun] for sentence, noun in by_loops(*lists)]


def as_a_sorted_tuple(*lists):
    return tuple(sorted(by_loops(*lists)))


def joined_words(creatures, things, links, creature_verbs, thing_verbs):
    found = {}
    for a, b in itertools.permutations([*creatures, *things], 2):
        if (a in creatures) == (b in creatures):
            continue
        for link, verb in itertools.product(links, [*thing_verbs, *creature_verbs]):
            words = ["the", a, link, "the", b, ",", "and", "it", verb, "."]
            found[" ".join(words)] = a if (a in creatures) == (verb in creature_verbs) else b
    return list(found.items())


def as_pairs_of_a_set(creatures, things, links, creature_verbs, thing_verbs):
    found = set()
    for creature, thing, link in itertools.product(creatures, things, links):
        for noun, verbs in ((creature, creature_verbs), (thing, thing_verbs)):
            for verb, (a, b) in itertools.product(verbs, itertools.permutations((creature, thing))):
                found.add((f"the {a} {link} the {b} , and it {verb} .", noun))
    return list(found)


def as_an_array(*lists):
    return np.array(by_loops(*lists)[::-1])


def probe_with_signs(train_x, train_y, test_x, test_y):
    """Labels -1 and 1, border at 0."""
    a = np.hstack([np.ones((len(train_x), 1)), train_x])
    w = np.linalg.pinv(a) @ (2 * train_y - 1)
    guess = np.sign(w[0] + test_x @ w[1:])
    return float((guess == 2 * test_y - 1).sum() / len(test_y))


def probe_by_normal_equations(train_x, train_y, test_x, test_y):
    """The mean of the *training* set taken off both, in place of the constant."""
    centre, middle = train_x.mean(axis=0), train_y.mean()
    x = train_x - centre
    w = np.linalg.solve(x.T @ x, x.T @ (train_y - middle))
    return np.mean(((test_x - centre) @ w + middle > 0.5) == (test_y == 1))


def probe_counting(train_x, train_y, test_x, test_y):
    a = np.c_[train_x, np.ones(len(train_x))]
    *w, b = np.linalg.lstsq(a, train_y.astype(float), rcond=None)[0]
    right = 0
    for x, y in zip(test_x, test_y, strict=True):
        right += int(x @ np.array(w) + b >= 0.5) == y
    return right / len(test_y)


def probe_one_column_per_label(train_x, train_y, test_x, test_y):
    a, b = (np.column_stack([x, np.ones(len(x))]) for x in (train_x, test_x))
    table = np.linalg.lstsq(a, np.eye(2)[train_y], rcond=None)[0]
    return (np.argmax(b @ table, axis=1) == test_y).mean()


def probe_in_torch(train_x, train_y, test_x, test_y):
    a, b = (
        torch.nn.functional.pad(torch.from_numpy(x), (0, 1), value=1.0) for x in (train_x, test_x)
    )
    w = torch.linalg.lstsq(a, torch.from_numpy(train_y).double()[:, None]).solution[:, 0]
    return ((b @ w > 0.5).long() == torch.from_numpy(test_y)).double().mean().item()


def cut_in_a_loop(n, query, key):
    mask = torch.full((len(query), n, n), True)
    for sentence, (q, k) in enumerate(zip(query.tolist(), key.tolist(), strict=True)):
        mask[sentence, q, k] = False
    return mask


def cut_by_comparing(n, query, key):
    places = torch.arange(n)
    row, column = places == query[:, None], places == key[:, None]
    return ~(row[:, :, None] & column[:, None, :])


def cut_with_one_hot(n, query, key):
    row = torch.nn.functional.one_hot(query, n)
    return torch.einsum("bq,bk->bqk", row, torch.nn.functional.one_hot(key, n)) == 0


def cut_flat(n, query, key):
    mask = torch.ones(len(query), n * n).scatter(1, (query * n + key)[:, None], 0.0)
    return mask.view(-1, n, n).bool()


def cut_in_numpy_and_back(n, query, key):
    mask = np.ones((len(query), n, n), dtype=bool)
    mask[np.arange(len(query)), query.numpy(), key.numpy()] = False
    return torch.from_numpy(mask)


def edge_through_scores(weights, query, key):
    scores = np.log(weights)
    scores[query, key] = -np.inf
    return softmax(scores)


def edge_with_where(weights, query, key):
    n = len(weights)
    edge = (np.arange(n)[:, None] == query) & (np.arange(n) == key)
    kept = np.where(edge, 0.0, weights)
    return kept / kept.sum(axis=1, keepdims=True)


def edge_by_factor(weights, query, key):
    row = weights[query] / (1 - weights[query, key])
    row[key] = 0
    return np.vstack([weights[:query], row, weights[query + 1 :]])


def edge_in_a_list(weights, query, key):
    rows = [list(row) for row in weights]
    rest = sum(w for j, w in enumerate(rows[query]) if j != key)
    rows[query] = [0.0 if j == key else w / rest for j, w in enumerate(rows[query])]
    return np.array(rows)


def equal_values_for_the_heavy_one():
    return np.array([0.05, 0.5, 0.25, 0.2]), np.array([[-9, 0], [7, 7], [1, 0], [1, 0.5]])


def the_heavy_one_agrees():
    """It speaks for the winning side, and is not needed."""
    return [0.7, 0.08, 0.12, 0.1], [[1, 0.9], [10, 0], [0, 3], [0, 4.0]]


def two_light_ones():
    return np.array([0.85, 0.05, 0.05, 0.05]), np.array([[0, 0], [0, 3.0], [2, 0], [0.5, 0]])


def exactly_half():
    values = np.zeros((4, 2), dtype=np.float32)
    values[1], values[2] = (0, 8), (1, 0)
    return np.array([0.5, 0.1, 0.3, 0.1], dtype=np.float32), values


RIGHT = {
    "contrast_sentences": [
        by_product,
        as_lists,
        as_a_sorted_tuple,
        joined_words,
        as_pairs_of_a_set,
        as_an_array,
    ],
    "probe_accuracy": [
        probe_with_signs,
        probe_by_normal_equations,
        probe_counting,
        probe_one_column_per_label,
        probe_in_torch,
    ],
    "cut_edge": [
        cut_in_a_loop,
        cut_by_comparing,
        cut_with_one_hot,
        cut_flat,
        cut_in_numpy_and_back,
        lambda n, query, key: by_index(key=key, n=n, query=query),
    ],
    "weights_without_edge": [edge_through_scores, edge_with_where, edge_by_factor, edge_in_a_list],
    "heavy_but_idle": [
        equal_values_for_the_heavy_one(),
        the_heavy_one_agrees(),
        two_light_ones(),
        exactly_half(),
        the_heavy_one_agrees,
    ],
}
