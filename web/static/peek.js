// Squares are pointed at, or walked with arrow keys, along a line or a column.
for (const figure of document.querySelectorAll("[data-peek]")) {
  const shown = figure.querySelector(".peek");
  let chosen = null;
  const choose = (square) => {
    if (!square) return;
    chosen?.classList.remove("on");
    (chosen = square).classList.add("on");
    const written = square.querySelector("title").textContent.split("\n").map((textContent, place) =>
      Object.assign(document.createElement("p"), {
        textContent,
        dir: "auto",
        className: ["muted s", "pref"][place] ?? "muted"
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
    group.onpointerover = ({ target }) => shown.querySelector("article") || choose(target.closest?.("a"));
    group.onfocus = () => choose(here());
    group.onkeydown = (event) => {
      const way = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key], now = here();
      if (event.key === "Enter") openCase(now.getAttribute("href"), shown);
      if (!way) return;
      event.preventDefault();
      const x = (square) => square.querySelector("rect").getAttribute("x");
      const line = /Up|Down/.test(event.key) ? squares.filter((square) => x(square) === x(now)) : squares;
      choose(line[line.indexOf(now) + way]);
    };
  }
}

// A case is read in place: beside the squares, or above the list.
async function openCase(address, panel) {
  const page = new DOMParser().parseFromString(await (await fetch(address)).text(), "text/html");
  const article = page.querySelector("#opened article");
  if (!article || !panel) return location.assign(address);
  panel.replaceChildren(document.adoptNode(article));
  article.focus();
  if (panel.id) history.replaceState(null, "", address);
}

document.onclick = (event) => {
  const link = event.target.closest?.(".squares a, .cases a, #opened a, article.opened a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const panel = link.closest("[data-peek]")?.querySelector(".peek") ?? document.querySelector("#opened");
  event.preventDefault();
  if (!link.closest("#opened, [data-peek]")) link.closest("li").append(panel);
  if (link.matches("[data-copy]")) {
    navigator.clipboard?.writeText(link.href);
    link.textContent = link.dataset.copy;
  } else if (link.matches("[data-close]")) panel.replaceChildren();
  else openCase(link.getAttribute("href"), panel);
};

document.onkeydown = (event) => {
  const article = event.target.closest?.("article.opened");
  const link = article?.querySelector(`[aria-keyshortcuts="${CSS.escape(event.key)}"]`);
  if (!link) return;
  event.preventDefault();
  link.click();
};

const [, permalink] = location.hash.match(/^#case-(\d+)$/) ?? [];
if (permalink && !document.getElementById(`case-${permalink}`)) location.search += `&case=${permalink}`;
