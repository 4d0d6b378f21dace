// Where a swap removed the focused element, the next act of the new part gets the focus, or the content of the page.
let held = null;
document.addEventListener("htmx:before:swap", () => {
  held = document.activeElement;
});
document.addEventListener("htmx:after:settle", () => {
  if (held && held !== document.body && document.activeElement === document.body) {
    (document.querySelector("[data-next]") ?? document.getElementById("content")).focus();
  }
  held = null;
});
