"""The story grammar is balanced, true, and its entropy is what it says."""

import collections
import subprocess
import sys

import numpy as np
import pytest

from attnbook.data import stories
from attnbook.data.stories import KINDS, openings

PARTS = {  # what a lazy reader might go by, none of which may give the answer away
    "sense": {
        "nothing": lambda s: (),
        "the frame": lambda s: s.roles,
        "the companion": lambda s: s.word("companion"),
        "the frame and the companion": lambda s: (s.roles, s.word("companion")),
        "the length": lambda s: len(s.words),
        "all but the clue": lambda s: [
            w for w, r in zip(s.words, s.roles, strict=True) if r != "clue"
        ],
    },
    "reference": {
        "nothing": lambda s: (),
        "the verb": lambda s: s.word("clue"),
        "the nouns in order": lambda s: (s.word("first"), s.word("second")),
        "all that comes before it": lambda s: s.words[: s.place("target")],
        "the words without their order": lambda s: sorted(s.words),
        "the verb and the link": lambda s: (s.word("clue"), s.words[2]),
        "the length": lambda s: len(s.words),
    },
}


def best_guess(chosen, part):
    """Share of right answers of the best rule that sees only this part of a story."""
    seen = collections.defaultdict(collections.Counter)
    for story in chosen:
        seen[repr(part(story))][story.answer] += 1
    return sum(max(counts.values()) for counts in seen.values()) / len(chosen)


@pytest.mark.parametrize("held_out", [False, True, None])
@pytest.mark.parametrize(("kind", "part"), [(k, p) for k, parts in PARTS.items() for p in parts])
def test_no_part_of_an_opening_gives_the_answer_away(kind, part, held_out):
    chosen = [s for s in openings(kind) if held_out is None or s.held_out is held_out]
    assert best_guess(chosen, PARTS[kind][part]) == 0.5


@pytest.mark.parametrize("kind", KINDS)
def test_the_whole_opening_does(kind):
    assert best_guess(openings(kind), lambda s: s.words) == 1.0


def test_what_must_be_enough_is_enough():
    assert best_guess(openings("sense"), lambda s: s.word("clue")) == 1.0
    first_and_verb = best_guess(openings("reference"), lambda s: (s.word("first"), s.word("clue")))
    assert first_and_verb == 1.0  # the other noun is of the other sort, so one is enough


def test_the_noun_nearest_to_bank_is_the_cue_in_every_second_opening():
    def nearest(s):
        places = s.place("clue"), s.place("companion")
        return s.words[min(places, key=lambda place: abs(place - s.place("target")))]

    assert best_guess(openings("sense"), nearest) == 0.75  # right with the cue, else a coin


@pytest.mark.parametrize("kind", KINDS)
def test_a_third_of_the_pairs_of_nouns_is_held_out_whole(kind):
    kept = {s.nouns for s in openings(kind) if s.held_out}
    trained = {s.nouns for s in openings(kind) if not s.held_out}
    assert not kept & trained
    assert len(kept) * 2 == len(trained)
    words = [{w for s in openings(kind) if s.held_out is out for w in s.words} for out in (0, 1)]
    assert words[0] == words[1]  # no word is new in the test


def test_held_out_references_come_as_whole_contrasts():
    groups = collections.defaultdict(list)
    for story in openings("reference"):
        if story.held_out:
            groups[story.nouns, story.words[2]].append(story.answer)
    assert all(sorted(answers) == [0] * 6 + [1] * 6 for answers in groups.values())


@pytest.mark.parametrize("kind", KINDS)
def test_the_truth_is_there_for_every_word(kind):
    for story in openings(kind):
        assert len(story.words) == len(story.roles) == len(story.meanings) == stories.OPENING
        assert story.words[story.place("target")] == {"sense": "bank", "reference": "it"}[kind]
        differ = [w != m for w, m in zip(story.words, story.meanings, strict=True)]
        assert differ == [role == "target" for role in story.roles]


def test_senses_follow_from_the_cue_and_are_told_in_the_sequel():
    for story in openings("sense"):
        sense = stories.SENSES[story.answer]
        assert story.word("clue") in stories.CUES[sense]
        assert story.sequel == ("so", "the", "bank", "held", sense, ".")
        assert story.meanings[story.place("target")] == f"bank ({sense})"


def test_it_means_the_noun_that_can_do_what_the_verb_says():
    for story in openings("reference"):
        noun, verb = story.word(("first", "second")[story.answer]), story.word("clue")
        assert (noun in stories.CREATURES) == (verb in stories.VERBS["creature"])
        assert story.sequel == ("so", "the", noun, verb, ".")
        assert story.meanings[story.place("target")] == noun


def test_every_story_has_its_own_text_and_none_begins_another():
    texts = {s.words + s.sequel for kind in KINDS for s in openings(kind)}
    assert len(texts) == sum(len(openings(kind)) for kind in KINDS) == 288 + 1728
    assert not any(text[:place] in texts for text in texts for place in range(len(text)))


def test_the_next_words_are_a_distribution():
    begun = ("the", "cup", "faced", "the", "dragon", ",", "and", "it", "flew", ".", "so", "the")
    assert stories.next_words(begun) == {"dragon": 1.0}  # whoever has understood it knows
    assert stories.next_words(begun[:8]) == pytest.approx(
        {verb: 1 / 6 for verbs in stories.VERBS.values() for verb in verbs}
    )
    for place in range(len(begun)):
        assert sum(stories.next_words(begun[:place]).values()) == pytest.approx(1)
    with pytest.raises(ValueError, match="no story begins"):
        stories.next_words(["dragon"])


def test_the_entropy_is_the_expected_loss_of_the_exact_probabilities():
    """Independent of the closed form: the surprise of every word of every story, by its weight."""
    surprise = length = 0.0
    for kind in KINDS:
        for story in openings(kind):
            words = list(story.words + story.sequel)
            weight = 1 / len(KINDS) / len(openings(kind))
            surprise += weight * stories.losses(words).sum()
            length += weight * len(words)
    assert surprise / length == pytest.approx(stories.entropy_per_word(), rel=1e-12)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_entropy_agrees_with_text_that_was_written(seed):
    text = stories.write(4000, np.random.default_rng(seed))
    assert stories.losses(text).mean() == pytest.approx(stories.entropy_per_word(), rel=0.01)


def test_the_entropy_agrees_with_mere_counting():
    """Plug-in estimate from counted stories, which knows nothing of the grammar."""
    text = " ".join(stories.write(30_000, np.random.default_rng(3)))
    counts = collections.Counter(
        story.strip() for story in text.replace(" . so", " : so").split(" .")
    )
    del counts[""]
    share = np.array(list(counts.values())) / sum(counts.values())
    correction = (len(share) - 1) / 2 / sum(counts.values())  # Miller and Madow: counting is biased
    per_story = -(share * np.log(share)).sum() + correction
    per_word = per_story * sum(counts.values()) / len(text.split())
    assert per_word == pytest.approx(stories.entropy_per_word(), rel=0.005)


def test_losses_name_what_no_story_says():
    with pytest.raises(ValueError, match="'the dragon' with 'dragon'"):
        stories.losses(["the", "dragon", "dragon"])
    assert len(stories.losses(["the", "boat"])) == 2  # cut short


def test_text_follows_its_seed():
    one, same, other = (stories.write(50, np.random.default_rng(seed)) for seed in (5, 5, 6))
    assert one == same != other
    assert set(one) <= set(stories.VOCABULARY)


def test_arrays_are_the_stories():
    chosen = openings("reference")[::97]
    data = stories.arrays(chosen)
    for row, story in enumerate(chosen):
        assert [stories.VOCABULARY[i] for i in data["words"][row]] == list(story.words)
        assert story.words[data["target"][row]] == "it"
        assert story.words[data["clue"][row]] == story.word("clue")
        assert data["answer"][row] == story.answer
        assert story.words[data["second"][row]] == story.word("second")
    both = stories.arrays([openings("sense")[0], openings("reference")[0]])
    assert set(both) == {"words", "answer", "target", "clue"}


def test_unknown_words_and_kinds_are_named():
    with pytest.raises(ValueError, match="griffin"):
        stories.encode(["the", "griffin"])
    with pytest.raises(ValueError, match="sense, reference"):
        openings("senses")


def test_importing_the_stories_loads_no_torch():
    code = "import sys, attnbook.data.stories; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
