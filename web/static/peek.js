// Squares are pointed at, or walked with arrow keys.
const WAYS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };

const placeOf = (square) => ["x", "y"].map((name) => Number(square.querySelector("rect").getAttribute(name)));

function neighbour(squares, from, [right, down]) {
  const [x, y] = placeOf(from);
  const far = (square) => {
    const [u, v] = placeOf(square);
    const ahead = right ? (v === y ? (u - x) * right : 0) : (v - y) * down;
    return ahead > 0 ? Math.abs(v - y) * 1000 + Math.abs(u - x) : Infinity;
  };
  const best = squares.reduce((one, other) => (far(other) < far(one) ? other : one));
  if (far(best) < Infinity) return best;
  return (right && squares[squares.indexOf(from) + right]) || from;
}

for (const figure of document.querySelectorAll("[data-peek]")) {
  const shown = figure.querySelector(".peek");
  let chosen = null;
  const choose = (square) => {
    if (!square || square === chosen) return;
    chosen?.classList.remove("on");
    chosen = square;
    square.classList.add("on");
    const [name, ...lines] = square.querySelector("title").textContent.split("\n");
    const written = [name, ...lines].map((textContent, place) =>
      Object.assign(document.createElement("p"), {
        textContent,
        dir: "auto",
        className: ["muted s", "pref"][place] ?? "muted",
      }),
    );
    const { picture } = square.dataset;
    if (picture && figure.dataset.peek) {
      written.splice(1, 0, Object.assign(new Image(), { src: figure.dataset.peek + picture, alt: "" }));
    }
    shown.replaceChildren(...written);
  };
  const groups = figure.querySelectorAll(".squares");
  choose(groups[0]?.querySelector("a"));
  for (const group of groups) {
    const squares = [...group.querySelectorAll("a")];
    const here = () => (squares.includes(chosen) ? chosen : squares[0]);
    group.addEventListener("pointerover", (event) => {
      if (!shown.querySelector("article")) choose(event.target.closest?.("a"));
    });
    group.addEventListener("focus", () => choose(here()));
    group.addEventListener("keydown", (event) => {
      if (event.key === "Enter") openCase(here().getAttribute("href"), shown);
      if (!WAYS[event.key]) return;
      event.preventDefault();
      choose(neighbour(squares, here(), WAYS[event.key]));
    });
  }
}

// A case is read in place: beside the squares, or above the list. Arrow keys go to the case before or after it.
async function openCase(address, panel) {
  const page = new DOMParser().parseFromString(await (await fetch(address)).text(), "text/html");
  const article = page.querySelector("#opened article");
  if (!article || !panel) return location.assign(address);
  panel.replaceChildren(document.adoptNode(article));
  article.focus();
  if (panel.id) history.replaceState(null, "", address);
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.(".squares a, .cases a, #opened a, article.opened a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const panel = link.closest("[data-peek]")?.querySelector(".peek") ?? document.querySelector("#opened");
  event.preventDefault();
  if (!link.closest("#opened, [data-peek]")) link.closest("li").append(panel);
  if (link.matches("[data-copy]")) {
    navigator.clipboard?.writeText(link.href);
    link.append(link.dataset.done ? "" : " ✓");
    link.dataset.done = true;
  } else if (link.matches("[data-close]")) panel.replaceChildren();
  else openCase(link.getAttribute("href"), panel);
});

document.addEventListener("keydown", (event) => {
  const rel = { ArrowLeft: "prev", ArrowRight: "next", Escape: "close" }[event.key];
  const article = event.target.closest?.("article.opened");
  const link = article?.querySelector(rel === "close" ? "[data-close]" : `[rel=${rel}]`);
  if (!rel || !link) return;
  event.preventDefault();
  link.click();
});

const [, permalink] = location.hash.match(/^#case-(\d+)$/) ?? [];
if (permalink && !document.getElementById(`case-${permalink}`)) {
  const address = new URL(location.href);
  address.searchParams.set("case", permalink);
  location.replace(address);
}
