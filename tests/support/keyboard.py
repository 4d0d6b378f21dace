"""A person who uses a page with the keyboard alone."""

from __future__ import annotations

from playwright.sync_api import Error, Locator, Page, expect

MOST_TABS = 120
MOST_TRIES = 5
WATCH = """
let held = null;
window.lost = 0;
document.addEventListener('htmx:before:swap', () => { held = document.activeElement }, true);
document.addEventListener('htmx:after:settle', () => setTimeout(() => {
  if (held && held !== document.body && document.activeElement === document.body) window.lost += 1;
}));
"""
"""Script that counts the htmx swaps after which the focus is on the body, although an element had it before."""


class Keys:
    """Presses keys on a page; the next key fails if a swap of a part of the page has lost the focus."""

    def __init__(self, page: Page) -> None:
        self.page = page
        page.add_init_script(WATCH)

    def press(self, *keys: str) -> None:
        """Press keys one after the other."""
        for key in keys:
            self.page.keyboard.press(key)
        self.page.wait_for_load_state()
        self.keep()

    def write(self, text: str) -> None:
        """Replace the text of the field that has the focus."""
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.type(text)

    def skip(self) -> None:
        """Follow the first link of a page, which skips the navigation."""
        # A page that is being left still has the focus on the link that was pressed; a fresh page has it nowhere.
        expect(self.page.locator("body *:focus")).to_have_count(0)
        for _ in range(MOST_TRIES):  # a page that is being laid out can lose a key
            self.page.keyboard.press("Tab")
            if self.page.evaluate("document.activeElement !== document.body"):
                break
        expect(self.page.get_by_role("link", name="Skip to the content")).to_be_focused()
        self.page.keyboard.press("Enter")
        expect(self.page.locator("#content")).to_be_focused()

    def to(self, wanted: Locator, key: str = "Tab") -> None:
        """Press Tab (or `key`) until an element has the focus; it must then be visible and show an outline."""
        element = wanted.element_handle()
        for _ in range(MOST_TABS):
            if self.page.evaluate("one => document.activeElement === one", element):
                break
            self.page.keyboard.press(key)
        expect(wanted).to_be_focused()
        expect(wanted).to_be_in_viewport()
        style = "one => { const s = getComputedStyle(one); return s.outlineStyle + s.outlineWidth }"
        assert wanted.evaluate(style) not in {"none0px", "none3px", "solid0px"}, f"no mark of the focus: {wanted}"

    def enter(self, wanted: Locator) -> None:
        """Go to a button or link with Tab, and press it."""
        self.to(wanted)
        self.press("Enter")

    def keep(self) -> None:
        """Assert that no swap has lost the focus."""
        for _ in range(MOST_TRIES):  # `Page.wait_for_function` evaluates in the page, whose policy forbids that
            try:
                assert self.page.evaluate("window.lost") == 0
            except Error:  # a key has opened another page
                self.page.wait_for_load_state()
            else:
                return
        assert self.page.evaluate("window.lost") == 0
