let held, lost;
addEventListener("htmx:before:swap", () => (held = document.activeElement));
addEventListener("htmx:after:settle", () => {
  const { body, activeElement: now } = document, next = document.querySelector("[data-next]");
  if (now === body ? held === body : !(lost && next && now === content)) return;
  (next ?? content).focus();
  lost = !next;
});
