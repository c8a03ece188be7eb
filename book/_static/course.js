// Small things for every page: boxes that scroll sideways can be reached with the keyboard, a folded part
// opens when a link leads into it or the page is printed, and paper is light whatever the screen is.

const SCROLLING = [
  "pre",
  "div.math",
  ".cell_output .output",
  ".pst-scrollable-table-container",
  ".attn-report > div",
].map((selector) => `.bd-article ${selector}`).join(",");

function labelFor(box) {
  if (box.matches(".math")) return "Formula, scrolls sideways";
  if (box.querySelector("table")) return "Table, scrolls sideways";
  return "Code or output, scrolls sideways";
}

function reachScrollingBoxes() {
  const boxes = [...document.querySelectorAll(SCROLLING)];
  // All are measured before any is changed: a change makes the browser lay out the page anew.
  const scrolls = boxes.map((box) => box.scrollWidth > box.clientWidth + 1);
  boxes.forEach((box, place) => {
    if (scrolls[place] === Boolean(box.dataset.scrolls)) return;
    if (scrolls[place]) {
      box.dataset.scrolls = "yes";
      box.tabIndex = 0;
      box.setAttribute("role", "group");
      box.setAttribute("aria-label", labelFor(box));
    } else {
      delete box.dataset.scrolls;
      for (const name of ["tabindex", "role", "aria-label"]) box.removeAttribute(name);
    }
  });
}

function openAround(target) {
  for (let part = target; part; part = part.parentElement) {
    if (part.tagName === "DETAILS") part.open = true;
  }
}

function openHashTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target) openAround(target);
}

document.addEventListener("toggle", reachScrollingBoxes, true);
window.addEventListener("resize", reachScrollingBoxes);
window.addEventListener("load", reachScrollingBoxes);
window.addEventListener("hashchange", openHashTarget);
window.addEventListener("beforeprint", () => {
  const { dataset } = document.documentElement;
  dataset.themeOnScreen = dataset.theme;
  dataset.theme = "light";
  for (const part of document.querySelectorAll("details:not([open])")) {
    part.open = true;
    part.dataset.printed = "yes";
  }
});
window.addEventListener("afterprint", () => {
  const { dataset } = document.documentElement;
  dataset.theme = dataset.themeOnScreen;
  for (const part of document.querySelectorAll("details[data-printed]")) {
    part.open = false;
    delete part.dataset.printed;
  }
});
openHashTarget();
reachScrollingBoxes();
