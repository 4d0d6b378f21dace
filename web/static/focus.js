let held, lost;
addEventListener("htmx:before:swap", () => (held = document.activeElement));
addEventListener("htmx:after:settle", () => {
  const { body, activeElement } = document, next = document.querySelector("[data-next]");
  const gone = held !== body && activeElement === body;
  if (!gone && !(lost && next && activeElement === content)) return;
  (next ?? content).focus();
  lost = !next;
});
