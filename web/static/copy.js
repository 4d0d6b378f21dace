// Buttons that copy the text before them; they stay hidden where the browser has no clipboard.
if (navigator.clipboard) {
  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.previousElementSibling.textContent);
      button.textContent = button.dataset.copy;
    });
  }
}
