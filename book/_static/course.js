// Small things for every page: boxes that scroll sideways can be reached with the keyboard, a folded part
// opens when a link leads into it or the page is printed, paper is light whatever the screen is, and the
// contents that lie over a small screen close when a place on the page is chosen.

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

// All are measured before any is changed: a change makes the browser lay out the page anew.
function mark(boxes) {
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

const allBoxes = () => [...document.querySelectorAll(SCROLLING)];

// To measure a box the browser must lay it out, so each waits until it comes near the window. The keyboard
// may go far at once: with the first key all are laid out and measured. To measure them where they are not
// laid out would leave the browser with wrong heights, and links would miss their places.
const near = new IntersectionObserver(
  (seen) => mark(seen.filter((one) => one.isIntersecting).map((one) => one.target)),
  { rootMargin: "100% 0px" },
);

function watchBoxes() {
  near.disconnect();
  for (const box of allBoxes()) near.observe(box);
}

function layOutAll() {
  document.documentElement.classList.add("all-laid-out");
  mark(allBoxes());
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

for (const drawer of document.querySelectorAll("dialog")) {
  drawer.addEventListener("click", ({ target }) => {
    if (target.closest('a[href^="#"]')) drawer.close();
  });
}

window.addEventListener("resize", watchBoxes);
window.addEventListener("keydown", layOutAll, { once: true, capture: true });
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
watchBoxes();
