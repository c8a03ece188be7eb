// A chapter's quiz, answered in the page: choices become radio buttons, and Check shows the reason of the
// one that is chosen. What was tried is kept in this browser and sent nowhere. Questions, choices and
// reasons are the page's own nodes, moved or copied, so that formulas and code stay as they were set.
"use strict";

(() => {
  const RIGHT = "\u2713", WRONG = "\u2717";

  /** An element; `settings` are its properties, `children` nodes or strings. */
  function make(tag, settings, ...children) {
    const element = Object.assign(document.createElement(tag), settings);
    element.append(...children);
    return element;
  }

  /** What stands in a list item or paragraph, without the one paragraph around it. */
  function contents(node) {
    const alone = node.children.length === 1 && node.firstElementChild.tagName === "P";
    return (alone ? node.firstElementChild : node).childNodes;
  }

  function symbol(isRight) {
    const mark = make("span", {}, isRight ? RIGHT : WRONG);
    mark.setAttribute("aria-hidden", "true");
    return mark;
  }

  function status(className) {
    const region = make("div", { className });
    region.setAttribute("role", "status");
    return region;
  }

  class Question {
    constructor(part, changed) {
      this.part = part;
      this.id = part.dataset.question;
      this.answer = Number(part.dataset.answer);
      this.reasons = [...part.querySelectorAll(".quiz-reasons > li")];
      this.changed = changed;
      this.tried = []; // numbers of the choices checked so far, in order
      this.build();
    }

    build() {
      const list = this.part.querySelector(".quiz-choices");
      const [asked, ...rest] = this.part.children;
      const further = rest.slice(0, rest.indexOf(list)); // further paragraphs of the question
      const legend = make("legend", {}, ...asked.childNodes);
      this.choices = [...list.children].map((item, index) => {
        const radio = make("input", { type: "radio", name: this.id, value: index + 1 });
        const text = make("span", { className: "quiz-text" }, ...contents(item));
        const mark = make("span", { className: "quiz-mark" });
        return { radio, mark, label: make("label", { className: "quiz-choice" }, radio, text, mark) };
      });
      const labels = this.choices.map(({ label }) => label);
      this.verdict = status("quiz-said");
      const button = make("button", { type: "submit", className: "quiz-check" }, "Check");
      const form = make("form", { className: "quiz-form", autocomplete: "off" });
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        this.check();
      });
      asked.replaceWith(form);
      form.append(make("fieldset", {}, legend, ...further, ...labels), button, this.verdict);
      list.remove();
      this.part.classList.add("quiz-live");
    }

    get isRight() {
      return this.tried.includes(this.answer);
    }

    get isRightAtOnce() {
      return this.tried[0] === this.answer;
    }

    check() {
      const chosen = this.choices.findIndex(({ radio }) => radio.checked) + 1;
      if (!chosen) {
        this.verdict.replaceChildren(make("p", {}, "Choose an answer first."));
        return;
      }
      if (!this.tried.includes(chosen)) this.tried.push(chosen);
      this.show(chosen);
      this.changed();
    }

    /** Say whether a choice is right and why, and mark all choices that were tried. */
    show(chosen) {
      const right = chosen === this.answer;
      const reason = this.reasons[chosen - 1].cloneNode(true);
      const letter = reason.querySelector("strong").textContent;
      reason.querySelector(".quiz-verdict").remove();
      const said = make("p", { className: "quiz-outcome" }, symbol(right),
        ` ${letter} is ${right ? "right" : "not right"}.`);
      const why = make("p", {}, ...contents(reason));
      const again = make("p", { className: "quiz-again" }, "Try again: choose another answer and check it.");
      this.verdict.replaceChildren(said, why, ...(this.isRight ? [] : [again]));
      this.verdict.dataset.outcome = right ? "right" : "wrong";
      this.part.classList.add("quiz-checked");
      for (const tried of this.tried) {
        const isAnswer = tried === this.answer;
        const { mark, label } = this.choices[tried - 1];
        mark.replaceChildren(symbol(isAnswer), isAnswer ? " right" : " no");
        label.dataset.outcome = isAnswer ? "right" : "wrong";
      }
    }

    /** Take up what was tried on an earlier visit; whatever fits no choice is left out. */
    restore(tried) {
      const known = Array.isArray(tried) ? tried.filter((n) => this.choices[n - 1]) : [];
      if (!known.length) return;
      this.tried = known;
      const chosen = this.isRight ? this.answer : known.at(-1);
      this.choices[chosen - 1].radio.checked = true;
      this.show(chosen);
    }

    reset() {
      this.tried = [];
      this.part.classList.remove("quiz-checked");
      this.verdict.replaceChildren();
      delete this.verdict.dataset.outcome;
      for (const { radio, mark, label } of this.choices) {
        radio.checked = false;
        mark.replaceChildren();
        delete label.dataset.outcome;
      }
    }
  }

  class Quiz {
    constructor(part) {
      this.key = `attnbook:quiz:${part.dataset.quiz}`;
      const parts = [...part.querySelectorAll(".quiz-question")];
      this.questions = parts.map((question) => new Question(question, () => this.changed()));
      this.score = status("quiz-count");
      this.note = make("p", { className: "quiz-note" });
      this.button = make("button", { type: "button", className: "quiz-reset" }, "Start over");
      this.button.addEventListener("click", () => this.reset());
      const saved = this.load();
      for (const question of this.questions) question.restore(saved[question.id]);
      this.tell();
      part.append(make("div", { className: "quiz-score" }, this.score, this.button, this.note));
    }

    /** What was tried on an earlier visit; nothing where the browser keeps nothing. */
    load() {
      try {
        return JSON.parse(localStorage.getItem(this.key)) ?? {};
      } catch {
        return {};
      }
    }

    save() {
      const tried = this.questions.filter((q) => q.tried.length).map((q) => [q.id, q.tried]);
      try {
        if (tried.length) localStorage.setItem(this.key, JSON.stringify(Object.fromEntries(tried)));
        else localStorage.removeItem(this.key);
        return true;
      } catch {
        return false;
      }
    }

    changed() {
      const kept = this.save();
      this.tell(kept);
    }

    tell(kept = true) {
      const right = this.questions.filter((question) => question.isRight).length;
      const atOnce = this.questions.filter((question) => question.isRightAtOnce).length;
      const detail = right ? `, ${atOnce} at the first try` : "";
      this.score.textContent = `${right} of ${this.questions.length} right${detail}`;
      this.button.hidden = this.questions.every((question) => !question.tried.length);
      this.note.textContent = kept
        ? "Your answers are kept in this browser and sent nowhere."
        : "This browser keeps nothing for this page: your answers are gone when you leave it.";
    }

    reset() {
      for (const question of this.questions) question.reset();
      // The button is about to disappear: the keyboard goes on at the first question.
      this.questions[0].choices[0].radio.focus();
      this.changed();
    }
  }

  for (const part of document.querySelectorAll(".quiz")) new Quiz(part);
})();
