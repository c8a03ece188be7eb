"""What axe-core finds wrong on a page, in a time that leaves room for many long pages."""

from __future__ import annotations

from typing import Any

# axe weighs every element against all others, some ten thousand on a chapter: half a minute. Most
# are words of code and letters of formulas, in one of a few colours. So of those that look alike,
# on the same ground, one is judged and the others are hidden.
ONE_OF_EACH_LOOK = """() => {
    const looks = new Set();
    const ground = (element) => {
        const layers = [];
        for (let e = element; e; e = e.parentElement) {
            const style = getComputedStyle(e);
            layers.push(style.opacity, style.backgroundImage, style.backgroundColor);
            if (style.backgroundColor.startsWith('rgb(')) break;  // nothing shines through
        }
        return layers;
    };
    const alike = [...document.querySelectorAll('pre span, math *')].filter((word) => {
        if (word.childElementCount) return false;
        const style = getComputedStyle(word);
        const look = [style.color, style.fontSize, style.fontWeight, style.textShadow,
            ...ground(word)].join('|');
        return looks.size === looks.add(look).size;
    });
    for (const word of alike) word.style.setProperty('display', 'none', 'important');
}"""


def violations(page: Any, context: Any = None) -> list[str]:
    """What axe-core finds on the page, or in the `context` alone: a line for each kind and place.

    Repeated words of code and letters of formulas are hidden by it: the last look at a page.
    """
    from axe_playwright_python.sync_playwright import Axe

    page.evaluate(ONE_OF_EACH_LOOK)
    return [
        f"{rule['impact']} {rule['id']}: {rule['help']} · {node['html'][:160]}"
        for rule in Axe().run(page, context).response["violations"]
        for node in rule["nodes"][:3]
    ]
