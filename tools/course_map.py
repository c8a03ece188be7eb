"""Keep the book's pages in step with the chapter map, book/course.yml.

python tools/course_map.py           bring the generated parts of the pages up to date
python tools/course_map.py --check   say which pages are not, and exit 1

It writes what stands between `<!-- begin NAME -->` and `<!-- end NAME -->`, and turns every
"chapter 7" into a link where that chapter is ready, into "chapter 7 (to come)" where it is not.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tools.course import ROMAN, Chapter, Course  # noqa: E402

PAGES = ["intro", "how-to-use", "notation", "glossary", "faq", "resources", "references"]
REGION = re.compile(r"(<!-- begin (?P<name>[\w-]+) -->\n).*?(<!-- end (?P=name) -->)", re.S)
MENTION = re.compile(
    r"\[(?P<linked>[Cc]hapter\s(?P<n>\d+))\]\(\.\./notebooks/[^)]*\)"
    r"|(?P<plain>[Cc]hapter\s(?P<m>\d+))(?: \(to come\))?(?!\d)"
)


def link(chapter: Chapter, words: str) -> str:
    """A Markdown link from a page of book/, or the bare words where the chapter is to come."""
    return f"[{words}](../notebooks/{chapter.slug}.ipynb)" if chapter.is_ready else words


def start(course: Course) -> str:
    first = course.ready[0]
    return f"**Start here: {link(first, first.name)}**"


def text_map(course: Course) -> str:
    """The map as nested lists: part, chapter, promise, what it builds on."""
    lines = []
    for part in course.map["parts"]:
        lines += [f"**Part {ROMAN[part['number']]} · {part['title']}.** {part['about']}", ""]
        lines += [
            f"- {_entry(chapter, course)}"
            for chapter in course.chapters
            if chapter.part == part["number"]
        ]
        lines.append("")
    capstone = course.map["capstone"]
    name = capstone["title"]
    if capstone["status"] == "ready":
        name = f"[{name}]({Path(capstone['page']).name})"
    else:
        name += " *(to come)*"
    return "\n".join([*lines, f"**At the end.** {name}: {capstone['promise']}"])


def _entry(chapter: Chapter, course: Course) -> str:
    name = link(chapter, chapter.name) + ("" if chapter.is_ready else " *(to come)*")
    numbers = [str(course.chapter(slug).number) for slug in chapter.prerequisites]
    after = f" Builds on {' and '.join(numbers)}." if numbers else ""
    return f"{name}: {chapter.promise}{after}"


def paths(course: Course) -> str:
    """The ways through the course; numbers are links where the chapter is ready."""
    by_number = {chapter.number: chapter for chapter in course.chapters}
    lines = []
    for path in course.map["paths"]:
        numbers = ", ".join(link(by_number[n], str(n)) for n in path["chapters"])
        lines.append(f"- **{path['title']}.** {path['about'].strip()}\n  Chapters {numbers}.")
    return "\n".join(lines)


def address(course: Course) -> str:
    """How to get the course, by the address of its repository in _config.yml."""
    url, _ = course.repository
    if not url:
        return (
            "**The course's folder.** To work, you need the folder that this site is made from: a "
            "notebook alone lacks\nthe checks. This copy of the site does not say where the folder "
            "is published. Ask whoever sent you here.\n\n"
            "**Colab.** The chapters are written to run there too. That needs the same address: as "
            "soon as the site\nknows it, the strip under each chapter's title holds a link."
        )
    folder = url.removesuffix(".git").rsplit("/", 1)[-1]
    commands = f"```text\ngit clone {url}\ncd {folder}\n```"
    local = (
        "**The course's folder.** To work, you need the folder that this site is made from. With "
        f"git:\n\n{commands}"
    )
    if not url.startswith("https://github.com/"):
        return local
    return (
        f"{local}\n\nWithout git, choose *Code*, *Download ZIP* on [its page]({url}), and unpack "
        "it.\n\n**Colab.** The strip under each chapter's title holds a link that opens it there. "
        "Nothing is\ninstalled on your machine; Google asks for an account."
    )


WRITERS: dict[str, Callable[[Course], str]] = {
    "start": start,
    "map": text_map,
    "paths": paths,
    "address": address,
}


def up_to_date(text: str, course: Course) -> str:
    """A page's text with its generated regions and its mentions of chapters renewed."""
    by_number = {chapter.number: chapter for chapter in course.chapters}

    def mention(found: re.Match) -> str:
        words = found["linked"] or found["plain"]
        chapter = by_number[int(found["n"] or found["m"])]
        return link(chapter, words) if chapter.is_ready else f"{words} (to come)"

    pieces, end = [], 0
    for region in REGION.finditer(text):
        pieces.append(MENTION.sub(mention, text[end : region.start()]))
        pieces.append(f"{region[1]}\n{WRITERS[region['name']](course)}\n\n{region[3]}")
        end = region.end()
    return "".join([*pieces, MENTION.sub(mention, text[end:])])


def stale_pages(root: Path = ROOT) -> dict[Path, str]:
    """Pages that differ from what course.yml says, each with the text it should have."""
    course = Course(root)
    found = {}
    for name in PAGES:
        path = root / "book" / f"{name}.md"
        text = path.read_text(encoding="utf-8")
        if (renewed := up_to_date(text, course)) != text:
            found[path] = renewed
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if stale")
    options = parser.parse_args()
    stale = stale_pages()
    for path, text in stale.items():
        print(f"{'stale' if options.check else 'renewed'}: {path.relative_to(ROOT)}")
        if not options.check:
            path.write_text(text, encoding="utf-8")
    if options.check and stale:
        sys.exit("Run: python tools/course_map.py")


if __name__ == "__main__":
    main()
