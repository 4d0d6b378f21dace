"""A test language that marks every translated message; words without a mark on its pages cannot be translated."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from gettext import NullTranslations
from threading import Thread
from typing import Any

import uvicorn

from service.app import create_app
from store.core.settings import Settings
from tests.support.agency_process import free_port
from tests.support.filled_agency import Site
from web.frame.api import Answer, Api
from web.frame.rendering import environment, install
from web.site import add_pages
from workers.targets.registry import TargetChecker

TEXTS = """() => {
  const data = 'bdi, code, pre, .mono, [lang], svg, script, style, noscript, textarea';
  const found = [];
  const walk = node => {
    if (node.nodeType === Node.TEXT_NODE) found.push(node.textContent);
    if (node.nodeType !== Node.ELEMENT_NODE) return;
    const apart = !['SPAN', 'B', 'A', 'I', 'EM', 'STRONG', 'TIME', 'BDI'].includes(node.tagName);
    if (apart) found.push(' | ');
    for (const name of ['aria-label', 'placeholder', 'alt', 'title'])
      if (node.hasAttribute(name) && !node.closest('svg, [lang]:not(html)'))
        found.push(` | ${node.getAttribute(name)} | `);
    if (!node.matches(data)) node.childNodes.forEach(walk);
    if (apart) found.push(' | ');
  };
  walk(document.body);
  return found.join('');
}"""
"""Script that returns a page's texts, also of attributes, without evidence, drawings and parts declared English."""

NAMES = (
    "Assay|UCS|DSBS|BS|API|HTTP|JSON|CSV|SVG|HTML|Markdown|YAML|JSONL|DSSE|JWKS|MB|kB|ms|UTC|json|jsonl|csv|html|yaml"
)
"""Names and units that are the same in every language."""


class Marked(NullTranslations):
    """A language that writes each message of the catalogue between ⟦ and ⟧."""

    def gettext(self, message: str) -> str:
        """Mark a message."""
        return f"⟦{message}⟧"

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        """Mark the singular or plural of a message."""
        return f"⟦{msgid1 if n == 1 else msgid2}⟧"


class Told:
    """Recorder of all texts in API responses: names, keys and values."""

    def __init__(self) -> None:
        self.texts: set[str] = set()

    def add(self, document: Any) -> None:
        """Add the texts of a document."""
        match document:
            case str():
                written = " ".join(document.split())
                self.texts |= {written, *map(str.strip, re.split(r"[:`]|\n\n", written)), written.replace("-", " ")}
            case dict():
                self.texts |= {key.replace("_", " ") for key in document} | set(document)
                for one in document.values():
                    self.add(one)
            case list():
                for one in document:
                    self.add(one)

    def not_in(self, written: str) -> str:
        """Return a text without marked messages, recorded API texts and names."""
        rest = " ".join(written.split())
        for one in sorted((one for one in self.texts if len(one) > 1 and one in rest), key=len, reverse=True):
            rest = re.sub(rf"(?<!\w){re.escape(one)}(?!\w)", " ", rest)
        return re.sub(rf"(https?://)?[\w.]+\.(com|org)\b\S*|https?://127\S*|\b({NAMES})\b", " ", rest)


def untranslated(text: str, told: Told) -> Iterable[str]:
    """Return the pieces of a page's text that contain words which no catalogue can translate."""
    bare = re.sub(r"⟦[^⟧]*⟧", " | ", text)
    pieces = {piece.strip() for piece in bare.split("|") if re.search(r"[^\W\d_]{2}", piece)}
    return sorted(piece for piece in pieces if re.search(r"[^\W\d_]{2}", told.not_in(piece)))


@contextmanager
def marked_pages(site: Site) -> Iterator[tuple[str, Told]]:
    """Serve an agency again in the marked language; yield its address and the recorded API texts."""
    settings = Settings(data_dir=site.process.data, auth="none", egress_allow="127.0.0.0/8")
    app = create_app(settings, validator=TargetChecker(settings), doorbell=lambda _: None)
    add_pages(app)
    port, told, ask = free_port(), Told(), Api.ask
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error", lifespan="off"))
    thread = Thread(target=server.run, daemon=True)

    async def heard(self: Api, *arguments: Any, **more: Any) -> Answer:
        answer = await ask(self, *arguments, **more)
        told.add(answer.document)
        return answer

    install(environment(), Marked())
    Api.ask = heard  # type: ignore[method-assign]
    try:
        thread.start()
        while not server.started:
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}", told
    finally:
        server.should_exit = True
        thread.join(20)
        Api.ask = ask  # type: ignore[method-assign]
        install(environment(), NullTranslations())
