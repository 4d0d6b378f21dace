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
    group.addEventListener("pointerover", (event) => choose(event.target.closest?.("a")));
    group.addEventListener("focus", () => choose(here()));
    group.addEventListener("keydown", (event) => {
      if (event.key === "Enter") location.href = here().getAttribute("href");
      if (!WAYS[event.key]) return;
      event.preventDefault();
      choose(neighbour(squares, here(), WAYS[event.key]));
    });
  }
}
