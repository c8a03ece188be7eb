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
def test_every_choice_is_judged_with_its_own_reason(browser, site, slug):
    asked = questions(slug)
    at_once = sum(right_choice(question) == 1 for question in asked)
    with open_quiz(browser, site, slug) as visit:
        assert score(visit) == f"0 of {len(asked)} right"
        shown = visit.page.evaluate(
            """() => [...document.querySelectorAll('.quiz-form')].map((form) =>
                [...form.querySelectorAll('.quiz-choice')].map((row) => {
                    row.click();
                    form.querySelector('.quiz-check').click();
                    return [row.innerText, form.querySelector('[role=status]').innerText];
                }))"""
        )
        for question, rows in zip(asked, shown, strict=True):
            for number, choice in enumerate(question["choices"], start=1):
                row, said = rows[number - 1]
                right = number == right_choice(question)
                verdict = "✓ {} is right." if right else "✗ {} is not right."
                assert said.startswith(verdict.format("ABCDE"[number - 1]))
                assert says(said, choice["reason"])
                assert says(row, str(choice["text"]))
                assert row.endswith("✓ right" if right else "✗ no")
        assert score(visit) == f"{len(asked)} of {len(asked)} right, {at_once} at the first try"
        assert visit.errors == []


@pytest.mark.parametrize("slug", CHAPTERS)
def test_an_answered_quiz_is_kept_accessible_in_both_themes_and_fits_a_phone(browser, site, slug):
    from axe_playwright_python.sync_playwright import Axe

    asked = questions(slug)
    rights = [right_choice(question) for question in asked]
    wrongs = [1 + right % 2 for right in rights]
    answers = [(wrongs, rights)[place % 2][place] for place in range(len(asked))]
    with open_quiz(browser, site, slug, PHONE) as visit:
        choose(visit, *answers)
        visit.reload()
        half = len(asked) // 2
        assert score(visit) == f"{half} of {len(asked)} right, {half} at the first try"
        for said, question, answer in zip(of(visit, ".quiz-said"), asked, answers, strict=True):
            assert says(said, question["choices"][answer - 1]["reason"])

        boxes = visit.page.locator(f"{CHOICES}, .quiz button").evaluate_all(
            "e => e.map((box) => box.getBoundingClientRect().toJSON())"
        )
        assert min(box["height"] for box in boxes) >= 44
        assert max(box["right"] for box in boxes) <= PHONE["width"]
        texts = visit.page.locator(".quiz-text").evaluate_all("e => e.map((t) => t.clientWidth)")
        assert min(texts) > PHONE["width"] / 3

        # axe weighs a whole page; the rest of this one is judged in test_pages.py
        visit.page.evaluate(
            """() => document.querySelectorAll('article section > section:not(#quiz), .bd-sidebar')
                .forEach((part) => part.remove())"""
        )
        for scheme in ("light", "dark"):
            visit.page.emulate_media(color_scheme=scheme)
            visit.page.wait_for_selector(f"html[data-theme={scheme}]")
            found = Axe().run(visit.page, context="#quiz").response
            assert [(r["id"], n["html"]) for r in found["violations"] for n in r["nodes"]] == []
            assert {"color-contrast", "label"} <= {rule["id"] for rule in found["passes"]}


def test_a_quiz_is_answered_and_started_over_with_the_keyboard_alone(browser, site):
    asked = questions(CHAPTERS[2])
    with open_quiz(browser, site, CHAPTERS[2]) as visit:
        press = visit.page.keyboard.press
        visit.page.locator("#quiz h2").click()  # the next Tab goes on from here
        for question in asked:
            inside = f"[data-question='{question['id']}']"
            status = visit.page.locator(f"{inside} [role=status]")
            tab_to(visit, f"{inside} input:not(:checked)")
            press("Enter")
            assert status.inner_text() == "Choose an answer first."
            press("Space")
            press("Enter")
            assert status.inner_text()[2:].startswith("A is ")
            for number in range(2, right_choice(question) + 1):
                press("ArrowDown")
                assert status.inner_text()[2:].startswith(f"{'ABCDE'[number - 2]} is not right.")
                tab_to(visit, f"{inside} button")
                press("Space")
                press("Shift+Tab")
            assert status.inner_text().startswith("✓")
        assert score(visit).startswith(f"{len(asked)} of {len(asked)} right")

        tab_to(visit, ".quiz-reset")
        press("Enter")
        assert focus_is_in(visit, f"[data-question='{asked[0]['id']}'] input:not(:checked)")
        assert score(visit) == f"0 of {len(asked)} right"
        assert "".join(of(visit, ".quiz-said, .quiz-mark")) == ""
        assert "quiz" not in visit.page.evaluate("Object.keys(localStorage).join()")


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
            visit.reload()
            said = "".join(of(visit, ".quiz-said"))
            assert ("A is" in said) == is_told, kept
            assert said.count("\n") <= 4
        assert visit.errors == []
