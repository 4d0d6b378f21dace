let held;
addEventListener("htmx:before:swap", () => (held = document.activeElement));
addEventListener("htmx:after:settle", () => {
  const { body, activeElement } = document;
  if (held !== body && activeElement === body) (document.querySelector("[data-next]") ?? content).focus();
});
