// Words as chips: press to remove, Enter or comma to add, Backspace to take the last back.
for (const list of document.querySelectorAll("[data-chips]")) {
  const box = document.createElement("p"), typed = list.cloneNode();
  const words = (text) => text.split(/[\n,;]/).map((word) => word.trim()).filter(Boolean);
  const write = (kept) => {
    list.value = kept.join(", ");
    box.replaceChildren(...kept.map((textContent, place) => {
      const onclick = () => {
        write(kept.toSpliced(place, 1));
        (box.children[place] ?? typed).focus();
      };
      const title = list.dataset.chips, type = "button";
      return Object.assign(document.createElement("button"), { textContent, title, type, onclick });
    }));
  };
  typed.onchange = () => {
    write(words(`${list.value},${typed.value}`));
    typed.value = "";
  };
  typed.oninput = () => /[\n,;]/.test(typed.value) && typed.onchange();
  typed.onkeydown = (event) => {
    if (event.key !== "Backspace" || typed.value) return;
    const kept = words(list.value);
    event.preventDefault();
    typed.value = kept.pop() ?? "";
    write(kept);
  };
  typed.name = typed.value = list.id = "";
  typed.rows = list.hidden = 1;
  box.className = "chips";
  list.after(box, typed);
  write(words(list.value));
}
