"""Chapter 11: contrast_sentences, probe_accuracy, cut_edge, weights_without_edge, heavy_but_idle."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import torch

from attnbook.exercises.exercise import Call, Exercise, Finding, Mistake, Probe

CHAPTER = "11-bank-and-dragon"

# Headings of the chapter, for `read=`.
SHORTCUTS = "A set without shortcuts"
PROBE = "Read the sense off the vector"
CUT = "Cut one edge"
AFTER = "A cut after the softmax"
ELSEWHERE = "Right while looking elsewhere"


# --- 11.1 contrast_sentences ------------------------------------------------------------------


def contrast_sentences(creatures, things, links, creature_verbs, thing_verbs):
    """Every creature with every thing, in both orders, with every link and every verb.

    Returns a list of (sentence, noun): the noun is the one that "it" means.
    """
    found = []
    for creature in creatures:
        for thing in things:
            for first, second in ((creature, thing), (thing, creature)):
                for link in links:
                    opening = f"the {first} {link} the {second} , and it"
                    for verb in creature_verbs:
                        found.append((f"{opening} {verb} .", creature))
                    for verb in thing_verbs:
                        found.append((f"{opening} {verb} .", thing))
    return found


def _sentences(
    orders=lambda c, t: ((c, t), (t, c)),
    pairs=itertools.product,
    verbs_for=lambda first_alive, verbs: verbs,
    noun=lambda first, second, creature, thing, alive: creature if alive else thing,
    form="the {} {} the {} , and it {} .",
) -> Callable:
    """contrast_sentences with one step replaced."""

    def wrong(creatures, things, links, creature_verbs, thing_verbs):
        verbs = [(v, True) for v in creature_verbs] + [(v, False) for v in thing_verbs]
        return [
            (form.format(first, link, second, verb), noun(first, second, creature, thing, alive))
            for creature, thing in pairs(creatures, things)
            for first, second in orders(creature, thing)
            for link in links
            for verb, alive in verbs_for(first == creature, verbs)
        ]

    return wrong


def _links_left_out(creatures, things, links, creature_verbs, thing_verbs):
    return contrast_sentences(creatures, things, links[:1], creature_verbs, thing_verbs)


def _every_noun_with_every_noun(creatures, things, links, creature_verbs, thing_verbs):
    nouns = [*creatures, *things]
    return [
        (f"the {a} {link} the {b} , and it {verb} .", a if (a in creatures) == alive else b)
        for a, b in itertools.permutations(nouns, 2)
        for link in links
        for verb, alive in [(v, True) for v in creature_verbs] + [(v, False) for v in thing_verbs]
    ]


def _noun_first(*lists):
    return [(noun, sentence) for sentence, noun in contrast_sentences(*lists)]


def _noun_for_it(*lists):
    found = contrast_sentences(*lists)
    return [(sentence.replace(" it ", f" {noun} "), noun) for sentence, noun in found]


def _doubled(*lists):
    return contrast_sentences(*lists) * 2


def _judge_sentences(call: Call, value) -> Finding | None:
    creatures, things, links, creature_verbs, thing_verbs = call.args
    got = [(str(sentence), str(noun)) for sentence, noun in value]
    wanted = dict(contrast_sentences(*call.args))
    tested = "every creature with every thing, in both orders, with every link and every verb"

    def no(name, example=None):
        return Finding(name, tested, (("for example", example),) if example else ())

    texts = [sentence for sentence, _ in got]
    if got and not set(texts) & set(wanted) and all(noun in wanted for _, noun in got):
        return no("pairs the other way round", " -> ".join(got[0]))
    if len(set(texts)) < len(texts):
        return no("sentences twice", max(texts, key=texts.count))
    odd = sorted(set(texts) - set(wanted))
    if odd:
        letters = {_letters(sentence) for sentence in wanted}
        if all(_letters(sentence) in letters for sentence in odd):
            return no("other spaces or stops", odd[0])
        if all(_of_one_sort(sentence.split(), creatures, things) for sentence in odd):
            return no("two nouns of one sort", odd[0])
        if all(sentence.lower() in wanted for sentence in odd):
            return no("capital letters", odd[0])
        if any(" it " not in sentence for sentence in odd):
            return no("'it' is missing", odd[0])
        return no("other sentences", odd[0])
    missing = sorted(set(wanted) - set(texts))
    if missing:
        return no(_what_is_missing(call.args, texts, wanted), missing[0])
    wrong = [pair for pair in got if wanted[pair[0]] != pair[1]]
    if wrong:
        return no(_what_is_named(call.args, got, wrong), " -> ".join(wrong[0]))
    return None


def _of_one_sort(words, creatures, things) -> bool:
    return any(len({*sort}.intersection(words)) == 2 for sort in (creatures, things))


def _letters(sentence: str) -> str:
    return "".join(letter for letter in sentence if letter.isalpha())


def _what_is_missing(lists, texts, wanted) -> str:
    creatures, things, links, creature_verbs, thing_verbs = lists
    parts = [sentence.split() for sentence in texts]  # the A link the B , and it verb .
    alive_first = {words[1] in creatures for words in parts}
    if len(alive_first) == 1:
        return "one order only"
    answers = {words[1] == wanted[text] for words, text in zip(parts, texts, strict=True)}
    if len(answers) == 1:
        return "the order follows the verb"
    if {words[2] for words in parts} != set(links):
        return "one link only"
    if len({frozenset((words[1], words[4])) for words in parts}) < len(creatures) * len(things):
        return "nouns in step"
    kinds = {words[8] in creature_verbs for words in parts}
    return "verbs of one sort only" if len(kinds) == 1 else "sentences missing"


def _what_is_named(lists, got, wrong) -> str:
    creatures = lists[0]
    parts = [(sentence.split(), noun) for sentence, noun in got]
    if all(noun == words[1] for words, noun in parts):
        return "always the first noun"
    if all(noun == words[4] for words, noun in parts):
        return "always the second noun"
    if all(noun in creatures for _, noun in parts):
        return "always the creature"
    if len(wrong) == len(got) and all(noun in (words[1], words[4]) for words, noun in parts):
        return "the other noun"
    return "the noun is not named" if _not_nouns(parts) else "wrong nouns"


def _not_nouns(parts) -> bool:
    return all(noun not in (words[1], words[4]) for words, noun in parts)


_NOUNS = (
    ("dragon", "owl", "crow", "swan", "moth"),
    ("cup", "jug", "vase", "lamp", "bowl"),
)
_LINKS = ("faced", "touched", "hid", "passed")
_VERBS = (("flew", "slept", "woke"), ("broke", "leaked", "cracked"))


def _word_lists(rng):
    def some(words, count):
        return [str(word) for word in rng.permutation(words)[:count]]

    sizes = ((1, 1, 1, 1, 1), (2, 3, 2, 2, 3), (3, 2, 4, 3, 1), (4, 3, 2, 1, 2))
    words = (*_NOUNS, _LINKS, *_VERBS)
    return [Call(tuple(some(*pair) for pair in zip(words, size, strict=True))) for size in sizes]


CONTRAST_SENTENCES = Exercise(
    id="contrast_sentences",
    number="11.1",
    chapter=CHAPTER,
    signature="contrast_sentences(creatures, things, links, creature_verbs, thing_verbs)",
    summary="sentences in which only noun and verb together say what 'it' means",
    difficulty=2,
    minutes=15,
    points=3,
    solution=contrast_sentences,
    returns=("sentences",),
    read=SHORTCUTS,
    hints=(
        "Count first. With one creature, one thing, one link and one verb of each sort there are four "
        "sentences: two orders, and in each of them two verbs. Which noun does *it* mean in each?",
        "Loop over creatures, things, the two orders `((creature, thing), (thing, creature))`, links "
        "and verbs. The noun depends on the verb's sort alone, not on the order.",
        'Inside the loops: `found.append((f"the {first} {link} the {second} , and it {verb} .", '
        "creature))` for each creature verb, and the same with `thing` for each thing verb.",
    ),
    probes=(
        Probe(
            "all of them",
            "the list of (sentence, noun), in any order, from lists of several lengths",
            _word_lists,
            judge=_judge_sentences,
            cause="Return a list of pairs of texts: the sentence, and the noun that it means.",
        ),
    ),
    mistakes=(
        Mistake(
            "one order only",
            _sentences(orders=lambda c, t: ((c, t),)),
            "One of the two sorts always comes first. A model may then learn 'flew: the first, broke: "
            "the second' and never look at the nouns.",
            "Make every sentence a second time with the nouns swapped.",
        ),
        Mistake(
            "the order follows the verb",
            _sentences(verbs_for=lambda first_alive, vs: [v for v in vs if v[1] == first_alive]),
            "Both orders are there, but the noun that *it* means always stands in the same place. "
            "Whoever answers 'the first' without reading is right every time.",
            "Give *each* order the verbs of both sorts.",
        ),
        Mistake(
            "always the first noun",
            _sentences(noun=lambda first, second, creature, thing, alive: first),
            "The sentences are right, but the noun is always the first one. After *flew* it is the "
            "creature, wherever that stands.",
            "Choose by the sort of the verb.",
        ),
        Mistake(
            "always the second noun",
            _sentences(noun=lambda first, second, creature, thing, alive: second),
            "The sentences are right, but the noun is always the second one, the nearer to *it*. After "
            "*flew* it is the creature, wherever that stands.",
            "Choose by the sort of the verb.",
        ),
        Mistake(
            "always the creature",
            _sentences(noun=lambda first, second, creature, thing, alive: creature),
            "The sentences are right, but *it* always means the creature, also where something broke.",
            "After the verb of a thing, name the thing.",
        ),
        Mistake(
            "the other noun",
            _sentences(
                noun=lambda first, second, creature, thing, alive: thing if alive else creature
            ),
            "Each time the *other* noun is named: the cup that flew, the dragon that broke.",
            "After the verb of a creature, name the creature.",
        ),
        Mistake(
            "the noun is not named",
            _sentences(
                noun=lambda first, second, creature, thing, alive: (
                    "first" if (first == creature) == alive else "second"
                )
            ),
            "The second part of each pair is not one of the sentence's two nouns.",
            'Put the noun itself there, such as `"dragon"`.',
        ),
        Mistake(
            "verbs of one sort only",
            _sentences(verbs_for=lambda first_alive, vs: [v for v in vs if v[1]]),
            "Only creatures do something. Then *it* is always the creature, and the verb need not be read.",
            "Use both lists of verbs.",
        ),
        Mistake(
            "nouns in step",
            _sentences(pairs=lambda creatures, things: zip(creatures, things, strict=False)),
            "Creature 0 meets thing 0 only, creature 1 meets thing 1 only: `zip` does so. A model could "
            "then learn the pairs by heart.",
            "Use two loops, one inside the other.",
        ),
        Mistake(
            "one link only",
            _links_left_out,
            "Not every link is used.",
            "Loop over `links` as well.",
        ),
        Mistake(
            "two nouns of one sort",
            _every_noun_with_every_noun,
            "There are sentences with two creatures or with two things. Both could have done it, so they "
            "have no answer.",
            "Pair creatures with things only.",
        ),
        Mistake(
            "sentences twice",
            _doubled,
            "At least one sentence occurs more than once.",
            "Four loops and the two orders make each sentence once.",
        ),
        Mistake(
            "pairs the other way round",
            _noun_first,
            "Each pair begins with the noun.",
            "Put the sentence first and the noun second.",
        ),
        Mistake(
            "capital letters",
            _sentences(form="The {} {} the {} , and it {} ."),
            "The words are right, but some have capital letters. The vocabulary has none.",
            "Write every word in small letters, the first one too.",
        ),
        Mistake(
            "'it' is missing",
            _noun_for_it,
            "There is no *it* in the sentence: the noun stands in its place, so nothing is left to ask.",
            "Leave the word `it` as it is; the noun goes into the second part of the pair.",
        ),
        Mistake(
            "other spaces or stops",
            _sentences(form="the {} {} the {}, and it {}."),
            "The words are right; spaces, comma or full stop are not as asked. The comma and the full stop "
            "are words of their own here, with a space before them.",
            'The form is `f"the {first} {link} the {second} , and it {verb} ."`.',
        ),
    ),
)


# --- 11.2 probe_accuracy ----------------------------------------------------------------------


def probe_accuracy(train_x, train_y, test_x, test_y):
    """Share of the test labels that a linear probe, fitted on the training set only, gets right."""

    def with_constant(x):
        return np.column_stack([x, np.ones(len(x))])  # (n, d + 1)

    probe = np.linalg.lstsq(with_constant(train_x), train_y, rcond=None)[0]  # (d + 1,)
    guess = with_constant(test_x) @ probe > 0.5  # (n_test,)
    return np.mean(guess == test_y)


def _probe(fit_on="train", measure_on="test", constant=True, limit=0.5, result=np.mean):
    """probe_accuracy with one step replaced."""

    def wrong(train_x, train_y, test_x, test_y):
        def widened(x):
            return np.column_stack([x, np.full(len(x), float(constant))])

        sets = {"train": (train_x, train_y), "test": (test_x, test_y)}
        sets["both"] = tuple(np.concatenate(parts) for parts in zip(*sets.values(), strict=True))
        (fit_x, fit_y), (seen_x, seen_y) = sets[fit_on], sets[measure_on]
        probe = np.linalg.lstsq(widened(fit_x), fit_y, rcond=None)[0]
        return result((widened(seen_x) @ probe > limit) == seen_y)

    return wrong


def _centred_apart(train_x, train_y, test_x, test_y):
    return probe_accuracy(train_x - train_x.mean(0), train_y, test_x - test_x.mean(0), test_y)


def _first_number_only(train_x, train_y, test_x, test_y):
    return probe_accuracy(train_x[:, :1], train_y, test_x[:, :1], test_y)


def _labelled(rng, n_train, n_test, d, apart=1.0, offset=0.0, share=0.5):
    """Two noisy clouds along a random direction, away from the origin by `offset`."""
    direction = rng.normal(size=d)
    direction *= apart / np.linalg.norm(direction)

    def draw(n, share):
        y = (rng.permutation(n) < share * n).astype(np.int64)
        return rng.normal(size=(n, d)) + offset + np.outer(2 * y - 1, direction), y

    return Call((*draw(n_train, share), *draw(n_test, 0.4)))


def _clouds(rng):
    return [
        _labelled(rng, 40, 101, 3),
        _labelled(rng, 60, 97, 5, apart=1.5, offset=2.0),
        _labelled(rng, 30, 89, 2, apart=0.7, offset=-1.0, share=0.3),
        _labelled(rng, 50, 151, 8, apart=0.8),
    ]


def _no_signal(rng):
    """Many numbers and few examples: whoever fits on what is tested finds what is not there."""
    return [_labelled(rng, 60, 79, 25, apart=0.0), _labelled(rng, 45, 63, 20, apart=0.0)]


PROBE_ACCURACY = Exercise(
    id="probe_accuracy",
    number="11.2",
    chapter=CHAPTER,
    signature="probe_accuracy(train_x, train_y, test_x, test_y)",
    summary="how well a linear map reads a label off vectors it has not seen",
    difficulty=2,
    minutes=12,
    points=2,
    solution=probe_accuracy,
    returns=("accuracy",),
    read=PROBE,
    hints=(
        "Two steps that must not touch each other's data: fit on the training set, count on the test "
        "set. And a line that must pass through the origin is no free line.",
        "Append a column of ones to `train_x` and to `test_x`. `np.linalg.lstsq(a, b, rcond=None)[0]` "
        "solves `a @ w ≈ b`; the labels are 0 and 1, so the border is at one half.",
        "`w = np.linalg.lstsq(np.column_stack([train_x, np.ones(len(train_x))]), train_y, "
        "rcond=None)[0]`; then `np.mean((np.column_stack([test_x, np.ones(len(test_x))]) @ w > 0.5) "
        "== test_y)`.",
    ),
    probes=(
        Probe(
            "clouds",
            "the share of right answers on the test set, for two clouds of vectors",
            _clouds,
            cause="Least squares on the training set, with a column of ones; then count on the test set.",
        ),
        Probe(
            "nothing to find",
            "labels that have nothing to do with the vectors: near one half, not above",
            _no_signal,
            cause="Something of the test set went into the probe.",
        ),
    ),
    mistakes=(
        Mistake(
            "fitted to the test set",
            _probe(fit_on="test"),
            "The probe was fitted to the test set, so it has seen the answers. With many numbers per "
            "vector it then 'finds' labels that are pure chance.",
            "Fit with `train_x` and `train_y` only.",
        ),
        Mistake(
            "fitted to both sets",
            _probe(fit_on="both"),
            "The test set was used for the fit, beside the training set: the probe has seen the answers.",
            "Fit with `train_x` and `train_y` only.",
        ),
        Mistake(
            "measured on the training set",
            _probe(measure_on="train"),
            "You count right answers on the training set, to which the probe was fitted.",
            "Count with `test_x` and `test_y`.",
        ),
        Mistake(
            "no constant",
            _probe(constant=False),
            "The constant is missing, so the border between the labels is tied to the origin.",
            "Append a column of ones to both sets.",
        ),
        Mistake(
            "border at zero",
            _probe(limit=0.0),
            "The labels are 0 and 1, but your border is at 0, so nearly everything becomes a 1.",
            "Compare with 0.5; or turn the labels into −1 and 1 first.",
        ),
        Mistake(
            "border at one",
            _probe(limit=1.0),
            "The border is at 1: only vectors beyond the label itself count as a 1.",
            "Compare with 0.5, half way between the labels.",
        ),
        Mistake(
            "number instead of share",
            _probe(result=np.sum),
            "This is the number of right answers.",
            "Divide by the number of test vectors, or take `np.mean`.",
        ),
        Mistake(
            "errors instead of hits",
            _probe(result=lambda right: 1 - np.mean(right)),
            "This is the share of *wrong* answers.",
            "Count where guess and label are equal.",
        ),
        Mistake(
            "each set centred on its own mean",
            _centred_apart,
            "You subtract the test set's own mean from it. That moves the border by something read off "
            "the test set, and fails where its labels are shared out differently.",
            "Treat the test vectors as the training vectors were treated, with numbers from training.",
        ),
        Mistake(
            "first number only",
            _first_number_only,
            "Only the first number of each vector is used.",
            "Use all columns.",
        ),
    ),
)


# --- 11.3 cut_edge ----------------------------------------------------------------------------


def cut_edge(n, query, key):
    """Mask (batch, n, n), True = may attend, False only where query[b] would look at key[b]."""
    mask = torch.ones(len(query), n, n, dtype=torch.bool, device=query.device)
    mask[torch.arange(len(query)), query, key] = False  # one entry in each sentence
    return mask


def _cut(mark: Callable) -> Callable:
    """A mask of ones in which `mark(mask, rows, query, key)` sets something to False."""

    def wrong(n, query, key):
        mask = torch.ones(len(query), n, n, dtype=torch.bool)
        mark(mask, torch.arange(len(query)), query, key)
        return mask

    return wrong


def _set(mask, *index):
    mask[index] = False


def _both_ways(mask, rows, query, key):
    _set(mask, rows, query, key)
    _set(mask, rows, key, query)


def _one_for_all(n, query, key):
    return cut_edge(n, query, key)[0]


def _additive(n, query, key):
    scores = torch.zeros(len(query), n, n, dtype=torch.float64)
    return scores.masked_fill(~cut_edge(n, query, key), -torch.inf)


def _everything_before(mask, rows, query, key):
    for row in rows:
        mask[row, query[row], : key[row] + 1] = False


def _edges(rng):
    calls = []
    for batch, n in ((1, 3), (2, 3), (3, 5), (4, 7), (6, 4)):
        query = rng.integers(n, size=batch)
        key = (query + rng.integers(1, n, size=batch)) % n  # another place
        calls.append(Call((n, query, key)))
    return calls


CUT_EDGE = Exercise(
    id="cut_edge",
    number="11.3",
    chapter=CHAPTER,
    signature="cut_edge(n, query, key)",
    summary="a mask that hides one word from one word, in every sentence of a batch",
    difficulty=2,
    minutes=10,
    points=2,
    library="torch",
    solution=cut_edge,
    returns=("mask",),
    read=CUT,
    hints=(
        "Begin with a mask in which everything may be seen. How many entries does one edge have in one "
        "sentence, and in which row and column does it stand?",
        "Row = who looks, column = what is looked at, so the entry of sentence b is "
        "`mask[b, query[b], key[b]]`. A loop over the sentences is right.",
        "Without the loop: `mask[torch.arange(len(query)), query, key] = False` takes one entry in each "
        "sentence. (`mask[:, query, key]` would take all edges in all sentences.)",
    ),
    probes=(
        Probe(
            "values",
            "all True but for one entry in each sentence: row query[b], column key[b]",
            _edges,
            cause="A row belongs to the word that looks, a column to the word that is looked at.",
        ),
    ),
    mistakes=(
        Mistake(
            "row and column swapped",
            _cut(lambda mask, rows, query, key: _set(mask, rows, key, query)),
            "Row and column are swapped: you stop the *key* from looking at the *query*. *bank* still sees "
            "its cue, and nothing tells you.",
            "The row is the word that looks: `[query, key]`.",
        ),
        Mistake(
            "every edge in every sentence",
            _cut(lambda mask, rows, query, key: _set(mask, slice(None), query, key)),
            "`mask[:, query, key]` cuts the edges of *all* sentences in each of them. With a batch of one "
            "it looks right.",
            "Count the sentences along: `mask[torch.arange(len(query)), query, key]`.",
        ),
        Mistake(
            "the key hidden from everybody",
            _cut(lambda mask, rows, query, key: _set(mask, rows, slice(None), key)),
            "The whole column is False: the key is hidden from *every* word, so you cannot say which "
            "edge did it.",
            "Set one entry of the column, in the row of the query.",
        ),
        Mistake(
            "the query sees nothing",
            _cut(lambda mask, rows, query, key: _set(mask, rows, query)),
            "The whole row is False: the word sees nothing at all. That is attention removed, not one "
            "edge.",
            "Set one entry of the row, in the column of the key.",
        ),
        Mistake(
            "both directions",
            _cut(_both_ways),
            "Both directions are cut. Then two things change at once.",
            "Cut the entry in the query's row only.",
        ),
        Mistake(
            "mask the other way round",
            lambda n, query, key: ~cut_edge(n, query, key),
            "The mask is the other way round: only the edge is left. In this course True means *may "
            "attend*.",
            "Begin with ones and set the edge to False.",
        ),
        Mistake(
            "up to the key",
            _cut(_everything_before),
            "Everything up to the key is hidden, not the key alone: a slice is at work.",
            "Index with the place itself.",
        ),
        Mistake(
            "one mask for all sentences",
            _one_for_all,
            "The batch axis is missing: in each sentence the edge lies elsewhere.",
            "Return one (n, n) mask for each sentence: (batch, n, n).",
        ),
        Mistake(
            "additive mask",
            _additive,
            "These are zeros and −∞, a mask to be added to scores. A boolean one is asked for.",
            "True where a word may look, False at the edge.",
        ),
    ),
)


# --- 11.4 weights_without_edge ----------------------------------------------------------------


def weights_without_edge(weights, query, key):
    """The weights (n, n) as they would be if that score had been masked before the softmax."""
    changed = weights.copy()
    changed[query, key] = 0.0
    changed[query] /= changed[query].sum()  # the rest of the row shares out all of it again
    return changed


def _edge_to_zero(weights, query, key):
    changed = weights.copy()
    changed[query, key] = 0.0
    return changed


def _shared_equally(weights, query, key):
    changed = _edge_to_zero(weights, query, key)
    others = np.arange(len(weights)) != key
    changed[query, others] += weights[query, key] / (len(weights) - 1)
    return changed


def _given_to(weights, query, key, to):
    changed = _edge_to_zero(weights, query, key)
    changed[query, to(changed[query], query)] += weights[query, key]
    return changed


def _columns_renormalised(weights, query, key):
    changed = _edge_to_zero(weights, query, key)
    return changed / changed.sum(axis=0)


def _softmax_again(weights, query, key):
    changed = weights.copy()
    row = np.exp(weights[query])
    row[key] = 0.0
    changed[query] = row / row.sum()
    return changed


def _column_emptied(weights, query, key):
    changed = weights.copy()
    changed[:, key] = 0.0
    return changed / changed.sum(axis=-1, keepdims=True)


def _edge_in_place(weights, query, key):
    weights[query, key] = 0.0
    weights[query] /= weights[query].sum()
    return weights


def _tables(rng):
    calls = []
    for n in (3, 2, 4, 6):
        scores = rng.normal(0, 1.5, size=(n, n))
        query, key, other = (int(place) for place in [*rng.permutation(n), 0][:3])
        if n > 2:
            scores[query, other] = scores[query].max() + 1  # the largest that is left: a third word
        weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
        calls.append(Call((weights, query, key)))
    return calls


WEIGHTS_WITHOUT_EDGE = Exercise(
    id="weights_without_edge",
    number="11.4",
    chapter=CHAPTER,
    signature="weights_without_edge(weights, query, key)",
    summary="what a mask before the softmax would have made of these weights",
    difficulty=1,
    minutes=8,
    points=2,
    solution=weights_without_edge,
    returns=("weights",),
    read=AFTER,
    hints=(
        "Softmax divides the exponentials of a row by their sum. If one of them is missing, what happens "
        "to the sum? And to the proportions among the others?",
        "Set the one weight to zero in a copy, then divide *its row* by what is left in it.",
        "`changed = weights.copy()`, `changed[query, key] = 0.0`, "
        "`changed[query] /= changed[query].sum()`.",
    ),
    probes=(
        Probe(
            "values",
            "the cut weight is 0, its row sums to one again in the old proportions, other rows stay",
            _tables,
            cause="Only one row changes: one weight goes, the others grow by one and the same factor.",
        ),
    ),
    mistakes=(
        Mistake(
            "not renormalised",
            _edge_to_zero,
            "The weight is gone and nothing takes its place: the row no longer sums to one. The word then "
            "receives *less*, which a mask before the softmax would not do.",
            "Divide the row by its new sum.",
        ),
        Mistake(
            "row and column swapped",
            lambda weights, query, key: weights_without_edge(weights, key, query),
            "You changed the row of the key. Rows belong to the word that looks.",
            "The entry is `[query, key]`.",
        ),
        Mistake(
            "shared out equally",
            _shared_equally,
            "What was cut is shared out equally. Softmax keeps the *proportions* of the others.",
            "Divide the row by its new sum.",
        ),
        Mistake(
            "all to the largest",
            lambda weights, query, key: _given_to(weights, query, key, lambda row, q: row.argmax()),
            "What was cut goes to the largest of the others alone. Softmax keeps the *proportions* of the "
            "others.",
            "Divide the row by its new sum.",
        ),
        Mistake(
            "all to itself",
            lambda weights, query, key: _given_to(weights, query, key, lambda row, q: q),
            "What was cut goes to the looking word itself. Softmax keeps the *proportions* of the others.",
            "Divide the row by its new sum.",
        ),
        Mistake(
            "columns renormalised",
            _columns_renormalised,
            "You divide by the sums of columns. It is the row that has to sum to one.",
            "Divide `changed[query]` by `changed[query].sum()`.",
        ),
        Mistake(
            "whole table divided by its sum",
            lambda weights, query, key: (
                _edge_to_zero(weights, query, key) / _edge_to_zero(weights, query, key).sum()
            ),
            "You divide the whole table by its sum. Each row sums to one by itself.",
            "Divide the one row by its own sum.",
        ),
        Mistake(
            "softmax of weights",
            _softmax_again,
            "You took a softmax of weights. They have been through one already; a second makes them more "
            "even.",
            "Divide the row by its new sum; no exponential is needed.",
        ),
        Mistake(
            "the key hidden from everybody",
            _column_emptied,
            "The key is hidden from *every* word. Only one edge was to go.",
            "Change the row of the query only.",
        ),
        Mistake(
            "changes its input",
            _edge_in_place,
            "The numbers are right, but the table you were given is changed.",
            "Work on `weights.copy()`.",
        ),
    ),
)


# --- 11.5 heavy_but_idle ----------------------------------------------------------------------

HEAVY, LIGHT, MARGIN = 0.5, 0.1, 1e-6

HEAVY_SOLUTION = """
weights = np.array([0.6, 0.1, 0.2, 0.1])
values = np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 1.0], [0.0, 1.0]])  # the heavy one says nothing
heavy_but_idle = (weights, values)
"""


def _lead(weights, values, without=None) -> float:
    """Output 0 minus output 1, without one of the tokens if told so."""
    weights = weights.copy()
    if without is not None:
        weights[without] = 0.0
        weights /= weights.sum()
    output = weights @ values
    return float(output[0] - output[1])


def _judge_heavy(value, rng) -> Finding | None:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        return Finding("not a pair", "that there are two tables, weights and values")
    weights, values = (np.asarray(part, dtype=np.float64) for part in value)
    if weights.shape != (4,) or values.shape != (4, 2):
        shapes = f"the shapes: {weights.shape} and {values.shape}"
        return Finding("other shapes", f"{shapes}; asked for are (4,) and (4, 2)")
    if not (np.isfinite(weights).all() and np.isfinite(values).all()):
        return Finding("not finite", "that all numbers are finite")
    if weights.min() <= 0 or abs(weights.sum() - 1) > 1e-6:
        shown = (("weights", weights.round(4)), ("their sum", round(float(weights.sum()), 4)))
        return Finding(
            "no softmax gives these", "that the weights are positive and sum to 1", shown
        )
    if weights.max() < HEAVY - 1e-6:
        shown = (("largest weight", round(float(weights.max()), 4)),)
        return Finding("nobody is heavy", "that one token has at least half of the weight", shown)
    whole, heavy = _lead(weights, values), int(weights.argmax())
    leads = [_lead(weights, values, token) for token in range(4)]
    shown = (
        ("output[0] - output[1]", round(whole, 4)),
        ("the same without token 0, 1, 2, 3", np.round(leads, 4)),
    )
    if min(abs(whole), abs(leads[heavy])) < MARGIN:
        return Finding("a tie", "that there is a decision, with and without the heavy token", shown)
    if whole * leads[heavy] < 0:
        tested = "that the decision stays without the heaviest token"
        return Finding("the heavy one decides", tested, shown)
    turns = [whole * lead < 0 and abs(lead) > MARGIN for lead in leads]
    light = weights <= LIGHT + 1e-6
    if not any(light & turns):
        tested = "that leaving out some token with a weight of at most 0.1 turns the decision"
        name = "no light token" if not light.any() else "no light token decides"
        return Finding(name, tested, (*shown, ("weights", weights.round(4))))
    return None


def _pair(weights, first, second=(0, 0, 0, 0)):
    return np.array(weights, dtype=float), np.array([first, second], dtype=float).T


HEAVY_BUT_IDLE = Exercise(
    id="heavy_but_idle",
    number="11.5",
    chapter=CHAPTER,
    signature="a pair (weights, values)",
    summary="a token with most of the weight that does not matter, and a light one that does",
    kind="object",
    difficulty=2,
    minutes=10,
    points=2,
    solution=HEAVY_SOLUTION,
    judge=_judge_heavy,
    read=ELSEWHERE,
    hints=(
        "A token adds its weight *times its value*. What value makes the weight meaningless?",
        "Give the heavy token the value (0, 0), or any value with two equal numbers. Leaving it out then "
        "turns nothing. Now let three light tokens vote.",
        "With `weights = np.array([0.6, 0.1, 0.2, 0.1])` let the second token say `[5, 0]` and the two "
        "after it `[0, 1]` each. With it output 0 wins, `0.5` against `0.3`; without it output 1 does.",
    ),
    mistakes=(
        Mistake(
            "the heavy one decides",
            _pair([0.6, 0.1, 0.2, 0.1], [1, 0, 0, 0], [0, 1, 1, 0]),
            "Leave out the heavy token and the decision turns: here its weight does tell who decides.",
            "Give it a value that says nothing for either side.",
        ),
        Mistake(
            "no light token decides",
            _pair([0.6, 0.1, 0.2, 0.1], [0, 1, 1, 1]),
            "No light token matters: whichever you leave out, the decision stays.",
            "Let one light token stand alone against the others, with a large value.",
        ),
        Mistake(
            "no light token",
            _pair([0.52, 0.16, 0.16, 0.16], [0, 5, 0, 0], [0, 0, 1, 1]),
            "No token has a weight of 0.1 or less.",
            "Make the deciding token lighter and its value larger.",
        ),
        Mistake(
            "nobody is heavy",
            _pair([0.4, 0.1, 0.3, 0.2], [0, 5, 0, 0], [0, 0, 1, 0.5]),
            "No token has half of the weight.",
            "Give one token 0.5 or more.",
        ),
        Mistake(
            "a tie",
            _pair([0.6, 0.1, 0.2, 0.1], [0, 2, 0, 0], [0, 0, 1, 0]),
            "There is no decision: both outputs are equal.",
            "Make one side clearly larger.",
        ),
        Mistake(
            "no softmax gives these",
            _pair([1.0, 0.1, 0.2, 0.1], [0, 5, 0, 0], [0, 0, 1, 1]),
            "These are no softmax weights: all must be above zero and sum to one.",
            "Divide them by their sum.",
        ),
        Mistake(
            "other shapes",
            (np.full(3, 1 / 3), np.zeros((3, 2))),
            "The tables have other sizes than asked for.",
            "Four weights; and four values of two numbers each, a row for each token.",
        ),
        Mistake(
            "not a pair",
            (np.full(4, 0.25), np.zeros((4, 2)), 0.0),
            "Two tables are asked for, first the weights and then the values.",
            "Write `heavy_but_idle = (weights, values)`.",
        ),
        Mistake(
            "not finite",
            _pair([0.6, 0.1, 0.2, 0.1], [np.nan, 5, 0, 0]),
            "Some numbers are infinite or not numbers at all.",
            "Look for a division by zero.",
        ),
    ),
)

EXERCISES = (
    CONTRAST_SENTENCES,
    PROBE_ACCURACY,
    CUT_EDGE,
    WEIGHTS_WITHOUT_EDGE,
    HEAVY_BUT_IDLE,
)
