"""What axe-core finds wrong on a page, in a time that leaves room for many long pages."""

from __future__ import annotations

from typing import Any

CONTRAST = "color-contrast"
# axe weighs the contrast of every element with text against all others, some ten thousand on a
# chapter: twenty seconds. Most are words of code in one of a few colours. So of all texts that look
# alike, in the same element on the same ground, one is judged and the others are hidden.
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
    const alike = [...document.querySelectorAll('body *')].filter((element) => {
        if (element.childElementCount || !element.textContent.trim()) return false;
        const style = getComputedStyle(element);
        const look = [element.localName, style.color, style.fontSize, style.fontWeight,
            style.textShadow, ...ground(element)].join('|');
        return looks.size === looks.add(look).size;
    });
    for (const element of alike) element.style.setProperty('display', 'none', 'important');
}"""


def violations(page: Any, context: Any = None) -> list[str]:
    """What axe-core finds on the page, or in the `context` alone: a line for each kind and place.

    Texts that look like another are hidden afterwards, so this is the last look at a page.
    """
    from axe_playwright_python.sync_playwright import Axe

    def found(**options: Any) -> list[dict]:
        options = {"resultTypes": ["violations"], **options}
        return Axe().run(page, context=context, options=options).response["violations"]

    structure = found(rules={CONTRAST: {"enabled": False}})
    page.evaluate(ONE_OF_EACH_LOOK)
    return [
        f"{rule['impact']} {rule['id']}: {rule['help']} · {node['html'][:160]}"
        for rule in structure + found(runOnly=[CONTRAST])
        for node in rule["nodes"][:3]
    ]
