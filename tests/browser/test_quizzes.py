"""Quizzes as a reader meets them: by keyboard, wrong and right, kept, on a phone, folded."""

from __future__ import annotations

import re

import pytest

from tests.browser.visit import PHONE, WIDE, Visit
from tools.course import Course, read_yaml
from tools.markers import right_choice

COURSE = Course()
CHAPTERS = [chapter.slug for chapter in COURSE.ready]
PLAIN = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'"})
CHOICES, REASONS = ".quiz-choice", ".quiz-reasons > li"


def questions(slug: str) -> list[dict]:
    return read_yaml(COURSE.quiz(slug))["questions"]


def says(shown: str, markdown: str) -> bool:
    """Does the shown text hold all words of the Markdown, formulas left out, in their order?"""
    parts = re.split(r"\$[^$]*\$|[`*]+", markdown.strip())
    words = [re.escape(part.strip()).replace(r"\ ", r"\s+") for part in parts if part.strip()]
    return re.search(".*".join(words), shown.translate(PLAIN), re.S) is not None


def open_quiz(browser, site: str, slug: str, viewport: dict = WIDE, **settings) -> Visit:
    return Visit(browser, site, f"notebooks/{slug}", viewport, **settings)


def choose(visit: Visit, *choices: int) -> None:
    """Choose and check an answer for each of the first questions."""
    visit.page.evaluate(
        """(choices) => choices.forEach((choice, place) => {
            const form = document.querySelectorAll('.quiz-form')[place];
            form.querySelectorAll('.quiz-choice')[choice - 1].click();
            form.querySelector('.quiz-check').click();
        })""",
        choices,
    )


def focus_is_in(visit: Visit, selector: str) -> bool:
    return visit.page.evaluate("(s) => document.activeElement.matches(s)", selector)


def tab_to(visit: Visit, selector: str, at_most: int = 6) -> None:
    for _ in range(at_most):
        visit.page.keyboard.press("Tab")
        if focus_is_in(visit, selector):
            return
    raise AssertionError(f"{at_most} presses of Tab do not reach {selector}")


def score(visit: Visit) -> str:
    return visit.page.locator(".quiz-count").inner_text()


def of(visit: Visit, selector: str) -> list[str]:
    return visit.page.locator(selector).all_inner_texts()


@pytest.mark.parametrize("slug", CHAPTERS)
def test_every_choice_is_judged_with_its_own_reason_by_keyboard_alone(browser, site, slug):
    asked = questions(slug)
    at_once = sum(right_choice(question) == 1 for question in asked)
    all_right = f"{len(asked)} of {len(asked)} right, {at_once} at the first try"
    with open_quiz(browser, site, slug) as visit:
        assert score(visit) == f"0 of {len(asked)} right"
        keyboard = visit.page.keyboard
        visit.page.locator("#quiz h2").click()
        for question in asked:
            part = visit.page.locator(f"[data-question='{question['id']}']")
            tab_to(visit, f"[data-question='{question['id']}'] input")
            assert says(part.locator("legend").inner_text(), question["question"])
            keyboard.press("Enter")
            assert part.get_by_role("status").inner_text() == "Choose an answer first."
            for number, choice in enumerate(question["choices"], start=1):
                keyboard.press("Space" if number == 1 else "ArrowDown")
                keyboard.press("Enter")
                said = part.get_by_role("status").inner_text()
                right = number == right_choice(question)
                verdict = "is right." if right else "is not right."
                assert said.startswith(f"{'✓' if right else '✗'} {'ABCDE'[number - 1]} {verdict}")
                assert says(said, choice["reason"])
                row = part.locator(CHOICES).nth(number - 1).inner_text()
                assert says(row, str(choice["text"]))
                assert row.endswith("✓ right" if right else "✗ no")
        assert score(visit) == all_right

        visit.page.reload()
        assert score(visit) == all_right
        for question, said in zip(asked, of(visit, ".quiz-said"), strict=True):
            assert says(said, question["choices"][right_choice(question) - 1]["reason"])

        visit.page.get_by_role("button", name="Start over").focus()
        keyboard.press("Enter")
        assert focus_is_in(visit, f"[data-question='{asked[0]['id']}'] input:not(:checked)")
        assert score(visit) == f"0 of {len(asked)} right"
        assert "".join(of(visit, ".quiz-said, .quiz-mark")) == ""
        assert visit.page.evaluate("Object.keys(localStorage).join()").count("quiz") == 0
        assert visit.errors == []


@pytest.mark.parametrize("slug", CHAPTERS)
def test_an_answered_quiz_is_accessible_in_both_themes_and_fits_a_phone(browser, site, slug):
    from axe_playwright_python.sync_playwright import Axe

    asked = questions(slug)
    with open_quiz(browser, site, slug, PHONE) as visit:
        rights = [right_choice(question) for question in asked]
        wrongs = [1 + right % 2 for right in rights]
        choose(visit, *(pair[n % 2] for n, pair in enumerate(zip(wrongs, rights, strict=True))))
        outcomes = visit.page.locator(".quiz-said").evaluate_all(
            "e => e.map((d) => d.dataset.outcome)"
        )
        assert outcomes == [("wrong", "right")[place % 2] for place in range(len(asked))]
        for scheme in ("light", "dark"):
            visit.page.emulate_media(color_scheme=scheme)
            visit.page.wait_for_selector(f"html[data-theme={scheme}]")
            found = Axe().run(visit.page, context="#quiz").response
            told = [
                (rule["id"], node["html"]) for rule in found["violations"] for node in rule["nodes"]
            ]
            assert told == []
            assert {"color-contrast", "label"} <= {rule["id"] for rule in found["passes"]}
        boxes = visit.page.locator(f"{CHOICES}, .quiz button").evaluate_all(
            "e => e.map((box) => box.getBoundingClientRect().toJSON())"
        )
        assert min(box["height"] for box in boxes) >= 44
        assert max(box["right"] for box in boxes) <= PHONE["width"]
        text = visit.page.locator(".quiz-text").evaluate_all("e => e.map((t) => t.clientWidth)")
        assert min(text) > PHONE["width"] / 3


def is_complete(visit: Visit, slug: str) -> bool:
    """Are all questions, choices and reasons there to be read, and nothing that needs scripts?"""
    reasons = of(visit, REASONS)
    for question, part in zip(questions(slug), of(visit, ".quiz-question"), strict=True):
        assert says(part, question["question"])
        assert f"The answer is {'ABCDE'[right_choice(question) - 1]}." in part
        for choice in question["choices"]:
            assert says(part, str(choice["text"]))
            assert says(reasons.pop(0), choice["reason"])
    controls = visit.page.locator(".quiz :is(input, button, .quiz-score)")
    return reasons == [] and not any(control.is_visible() for control in controls.all())


@pytest.mark.parametrize("slug", CHAPTERS)
def test_without_scripts_the_folded_quiz_is_complete(browser, site, slug):
    with open_quiz(browser, site, slug, java_script_enabled=False) as visit:
        assert is_complete(visit, slug)


def test_on_paper_the_folded_quiz_is_complete_whatever_was_answered(browser, site):
    with open_quiz(browser, site, CHAPTERS[2]) as visit:
        choose(visit, 1, 2)
        visit.page.emulate_media(media="print")
        visit.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        assert is_complete(visit, CHAPTERS[2])


def test_the_fold_with_all_reasons_waits_for_the_first_try(browser, site):
    with open_quiz(browser, site, CHAPTERS[0]) as visit:
        folds = visit.page.locator(".quiz details")
        choose(visit, 1, 1)
        assert [fold.is_visible() for fold in folds.all()][:3] == [True, True, False]


def test_a_browser_that_keeps_nothing_says_so_and_the_quiz_works(browser, site):
    with open_quiz(browser, site, CHAPTERS[0]) as visit:
        note = visit.page.locator(".quiz-note")
        assert "kept in this browser" in note.inner_text()
        visit.page.evaluate(
            "() => { Storage.prototype.setItem = () => { throw new Error('full'); }; }"
        )
        choose(visit, right_choice(questions(CHAPTERS[0])[0]))
        assert score(visit).endswith("1 at the first try")
        assert "keeps nothing" in note.inner_text()
        assert visit.errors == []


def test_what_was_kept_and_fits_no_more_is_left_out(browser, site):
    first = questions(CHAPTERS[0])[0]["id"]
    with open_quiz(browser, site, CHAPTERS[0]) as visit:
        for kept, is_told in [
            ("{", False),
            ("7", False),
            (f'{{"a-question-of-old": [1], "{first}": [9, "x"]}}', False),
            (f'{{"{first}": [9, 1, "x"]}}', True),
        ]:
            visit.page.evaluate(
                "([key, kept]) => localStorage.setItem(key, kept)",
                [f"attnbook:quiz:{CHAPTERS[0]}", kept],
            )
            visit.page.reload()
            said = "".join(of(visit, ".quiz-said"))
            assert ("A is" in said) == is_told, kept
            assert said.count("\n") <= 4
        assert visit.errors == []
