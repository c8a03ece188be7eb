"""Small stories in which one word needs its context, with the answer known for every token.

    "the boat and the tree were near the bank . so the bank held water ."
    "the cup faced the dragon , and it flew . so the dragon flew ."

The grammar is a product of choices: every noun meets every noun, in every order and frame, with
every verb. So no part of an opening alone gives its answer away (tests/test_stories.py counts),
and the entropy of the text is known exactly.

    openings("sense")           all openings with "bank": the answer is its sense
    openings("reference")       all openings with "it": the answer is which noun it means
    arrays(stories)             their words as numbers, with answers and places
    write(500, rng)             text: openings of both kinds, each with its sequel
    entropy_per_word()          what the best possible model of that text still has to guess
    next_words(begun), losses(text)     the same, word by word
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

SENSES = ("water", "money")  # of "bank": answer 0, answer 1
CUES = {
    "water": ("river", "boat", "fish", "otter", "ferry", "reed"),
    "money": ("coin", "loan", "clerk", "vault", "cheque", "safe"),
}
COMPANIONS = ("tree", "horse", "girl", "wall", "road", "house")  # go with either sense
SENSE_FRAMES = (  # the cue first or second, before "bank" or after it
    "the {cue} and the {companion} were near the bank .",
    "the {companion} and the {cue} were near the bank .",
    "the bank was near the {cue} and the {companion} .",
    "the bank was near the {companion} and the {cue} .",
)

CREATURES = ("dragon", "owl", "crow", "swan", "goose", "moth")
THINGS = ("cup", "jug", "vase", "bowl", "bottle", "lamp")
LINKS = ("faced", "touched", "hid", "passed")  # what a creature and a thing can both do
VERBS = {"creature": ("flew", "slept", "woke"), "thing": ("broke", "leaked", "cracked")}
REFERENCE_FRAME = "the {first} {link} the {second} , and it {verb} ."

KINDS = ("sense", "reference")
OPENING = 10  # words in every opening, so that length says nothing


@dataclass(frozen=True)
class Story:
    """An opening, what is true of it, and the sequel that says so.

    roles has one entry for each word: "target" is the word to be understood ("bank" or "it"),
    "clue" the word that decides; the other nouns are "companion", or "first" and "second"; "" else.
    meanings has one entry for each word too: what it stands for in this story.
    answer is 0 or 1: the sense in SENSES, or the first or the second noun.
    """

    kind: str
    words: tuple[str, ...]
    roles: tuple[str, ...]
    meanings: tuple[str, ...]
    answer: int
    sequel: tuple[str, ...]

    def place(self, role: str) -> int:
        """Where the word with this role stands."""
        return self.roles.index(role)

    def word(self, role: str) -> str:
        """The word with this role."""
        return self.words[self.place(role)]

    @property
    def nouns(self) -> frozenset[str]:
        """The two nouns beside the target, without their order."""
        names = ("clue", "companion") if self.kind == "sense" else ("first", "second")
        return frozenset(self.word(name) for name in names)

    @property
    def held_out(self) -> bool:
        """Kept for testing: a third of the pairs of nouns, each with all its orders and verbs.

        Every noun occurs in training, in every frame; these pairs of nouns never do.
        """
        return sum(_NUMBER[noun] for noun in self.nouns) % 3 == 0


_NUMBER = {
    noun: number
    for nouns in (*CUES.values(), COMPANIONS, CREATURES, THINGS)
    for number, noun in enumerate(nouns)
}


@functools.cache
def openings(kind: str) -> tuple[Story, ...]:
    """All stories of a kind, each as likely as the other: 288 "sense", 1728 "reference"."""
    if kind not in KINDS:
        raise ValueError(f"expected one of {', '.join(KINDS)}, got {kind!r}")
    return tuple(_sense_stories() if kind == "sense" else _reference_stories())


def _sense_stories():
    for answer, sense in enumerate(SENSES):
        for cue, companion, frame in itertools.product(CUES[sense], COMPANIONS, SENSE_FRAMES):
            words = tuple(frame.format(cue=cue, companion=companion).split())
            roles = {"bank": "target", cue: "clue", companion: "companion"}
            yield _story("sense", words, roles, f"bank ({sense})", answer, f"bank held {sense}")


def _reference_stories():
    pairs = [
        pair for c in CREATURES for thing in THINGS for pair in ((c, thing), (thing, c))
    ]  # both orders of each
    verbs = [(kind, verb) for kind, names in VERBS.items() for verb in names]
    for (first, second), link, (kind, verb) in itertools.product(pairs, LINKS, verbs):
        frame = REFERENCE_FRAME.format(first=first, link=link, second=second, verb=verb)
        answer = int((kind == "creature") == (second in CREATURES))
        noun = (first, second)[answer]
        roles = {"it": "target", verb: "clue", first: "first", second: "second"}
        yield _story("reference", tuple(frame.split()), roles, noun, answer, f"{noun} {verb}")


def _story(kind, words, roles, meaning, answer, end) -> Story:
    return Story(
        kind,
        words,
        tuple(roles.get(word, "") for word in words),
        tuple(meaning if roles.get(word) == "target" else word for word in words),
        answer,
        ("so", "the", *end.split(), "."),
    )


VOCABULARY = tuple(
    sorted({word for kind in KINDS for s in openings(kind) for word in s.words + s.sequel})
)
_INDEX = {word: index for index, word in enumerate(VOCABULARY)}


def encode(words: Sequence[str]) -> np.ndarray:
    """Words as their numbers in VOCABULARY, int64; ValueError for a word it does not have."""
    unknown = sorted(set(words) - set(_INDEX))
    if unknown:
        raise ValueError(f"not in the vocabulary: {', '.join(unknown)}")
    return np.array([_INDEX[word] for word in words], dtype=np.int64)


def arrays(stories: Sequence[Story]) -> dict[str, np.ndarray]:
    """words (n, 10) as numbers; answer (n,); and for every role that all have, its place (n,).

    So there are always "target" and "clue"; for one kind also "companion", or "first" and "second".
    """
    roles = set.intersection(*(set(story.roles) for story in stories)) - {""}
    return {
        "words": np.stack([encode(story.words) for story in stories]),
        "answer": np.array([story.answer for story in stories]),
        **{role: np.array([story.place(role) for story in stories]) for role in sorted(roles)},
    }


def write(n_stories: int, rng: np.random.Generator) -> list[str]:
    """Text of so many stories, words and full stops: each of either kind, at even odds."""
    text: list[str] = []
    for kind in rng.integers(len(KINDS), size=n_stories):
        choices = openings(KINDS[kind])
        story = choices[rng.integers(len(choices))]
        text += story.words + story.sequel
    return text


def entropy_per_word() -> float:
    """Entropy of the text of `write`, in nats per word; exact.

    A story is one of 2 kinds and then one of the openings of its kind; no two have the same text,
    and no text begins another. So the choices are all there is to guess, and their entropy, over
    the mean number of words, is the loss that no model can beat on text that begins with a story.
    """
    choices = math.log(len(KINDS)) + np.mean([math.log(len(openings(kind))) for kind in KINDS])
    length = np.mean([np.mean([len(s.words + s.sequel) for s in openings(k)]) for k in KINDS])
    return float(choices / length)


def next_words(begun: Sequence[str]) -> dict[str, float]:
    """What may follow in the text after a story that has begun with these words, and how likely.

    An empty list asks for the first word of a story. ValueError if no story begins so.
    """
    counts = _continuations().get(tuple(begun))
    if counts is None:
        raise ValueError(f"no story begins with {' '.join(begun)!r}, or it is complete")
    total = sum(counts.values())
    return {word: weight / total for word, weight in counts.items()}


def losses(text: Sequence[str]) -> np.ndarray:
    """-log of the exact probability of every word of a text, (n,), in nats.

    The text must begin with a story; the last one may be cut short.
    """
    found, begun = np.empty(len(text)), []
    for place, word in enumerate(text):
        chances = next_words(begun)
        if word not in chances:
            raise ValueError(f"no story goes on from {' '.join(begun)!r} with {word!r}")
        found[place] = -math.log(chances[word])
        begun.append(word)
        if tuple(begun) not in _continuations():  # the story is told
            begun = []
    return found


@functools.cache
def _continuations() -> dict[tuple[str, ...], dict[str, float]]:
    """For every beginning of a story, what may follow and the probability of both together."""
    table: dict[tuple[str, ...], dict[str, float]] = {}
    for kind in KINDS:
        stories = openings(kind)
        for story in stories:
            words = story.words + story.sequel
            for place, word in enumerate(words):
                counts = table.setdefault(words[:place], {})
                counts[word] = counts.get(word, 0.0) + 1 / len(KINDS) / len(stories)
    return table
