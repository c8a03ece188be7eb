// Which chapters a reader has marked as read. The list lives in this browser's storage and nowhere else.
// Chapter pages have a checkbox; the map and the navigation say "read" beside what is marked.
(() => {
  "use strict";
  const KEY = "chapters-read";
  let read = stored();

  function stored() {
    try {
      const kept = JSON.parse(localStorage.getItem(KEY));
      return new Set(Array.isArray(kept) ? kept : []);
    } catch {
      return new Set(); // a browser that keeps nothing, or something else under that name
    }
  }

  function store() {
    try {
      if (read.size) localStorage.setItem(KEY, JSON.stringify([...read].sort()));
      else localStorage.removeItem(KEY);
    } catch {
      // The marks then last as long as the page.
    }
  }

  function isRead(address) {
    return read.has(new URL(address, location).pathname.match(/\/notebooks\/([\w-]+)\.html$/)?.[1]);
  }

  function markNavigation() {
    for (const link of document.querySelectorAll(".bd-sidebar-primary nav a")) {
      link.querySelector(".said-read")?.remove();
      if (!isRead(link.href)) continue;
      const said = document.createElement("span");
      said.className = "said-read";
      said.textContent = " · read";
      link.append(said);
    }
  }

  function markMap() {
    for (const card of document.querySelectorAll(".course-map a.ready")) {
      const marked = isRead(card.getAttribute("href"));
      card.classList.toggle("read", marked);
      card.querySelector(".note").textContent = marked ? "read" : "open";
    }
  }

  // Below the map: how far, what comes next, and the way to forget it all.
  function tellProgress() {
    const map = document.querySelector("figure.course-map");
    document.getElementById("reading-progress")?.remove();
    if (!map || !read.size) return;
    const cards = [...map.querySelectorAll(".course-map-wide a.ready")];
    const open = cards.filter((card) => !card.classList.contains("read"));
    const told = document.createElement("p");
    told.id = "reading-progress";
    told.append(`You have marked ${cards.length - open.length} of ${cards.length} chapters as read. `);
    if (open.length) {
      const link = document.createElement("a");
      link.href = open[0].getAttribute("href");
      link.textContent = `Go on with chapter ${open[0].querySelector(".number").textContent.trim()}`;
      told.append(link, " ");
    }
    const forget = document.createElement("button");
    forget.type = "button";
    forget.textContent = "Forget my marks";
    forget.addEventListener("click", () => {
      read = new Set();
      store();
      show();
    });
    told.append(forget);
    map.after(told);
  }

  function show() {
    const box = document.getElementById("chapter-read");
    if (box) box.checked = read.has(box.dataset.chapter);
    markNavigation();
    markMap();
    tellProgress();
  }

  document.getElementById("chapter-read")?.addEventListener("change", ({ target }) => {
    if (target.checked) read.add(target.dataset.chapter);
    else read.delete(target.dataset.chapter);
    store();
    show();
  });
  window.addEventListener("storage", () => {
    read = stored(); // marked in another tab
    show();
  });
  show();
})();
