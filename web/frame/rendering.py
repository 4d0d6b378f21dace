"""Templates: Jinja with automatic escaping, texts through gettext, filters, and the codes of the API in words."""

import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache, partial
from gettext import NullTranslations
from importlib.resources import files
from typing import Any, cast

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import assay
from assay.catalog.languages import languages
from assay.document import Json
from assay.explain import chance, share
from assay.rating.decision import METHODOLOGY_VERSION
from reports.methods import report_of
from web.frame.assets import address_of

WORDING: Json = tomllib.loads(files(__package__).joinpath("wording.toml").read_text("utf-8"))
"""Codes of the API in words, and the navigation bar."""

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@cache
def environment() -> Environment:
    """Return the Jinja environment for all pages; each template is in the folder of its page."""
    jinja = Environment(
        loader=PackageLoader("web", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n", "jinja2.ext.do"],
    )
    install(jinja, NullTranslations())
    jinja.filters |= {"day": day, "moment": moment, "clock": clock, "percent": percent, "number": number}
    jinja.filters |= {"language": language, "titled": titled, "share": share}
    jinja.globals |= {"asset": address_of, "version": assay.__version__}
    jinja.globals |= {"methodology": METHODOLOGY_VERSION, "wording": WORDING, "report_of": report_of}
    return jinja


def install(templates: Environment, translations: NullTranslations) -> None:
    """Set the translations of all texts in the templates."""
    templates.install_gettext_translations(translations, newstyle=True)  # type: ignore[attr-defined]
    templates.globals["translations"] = translations


def render(template: str, values: Mapping[str, Any]) -> str:
    """Render a template."""
    return environment().get_template(template).render(values)


def _time_element(iso_time: str | None, pattern: str) -> Markup:
    if not iso_time:
        return Markup("–")
    utc = datetime.fromisoformat(iso_time).astimezone(UTC)
    month = _translate(MONTHS[utc.month - 1])
    return Markup('<time datetime="{}">{}</time>').format(iso_time, pattern.format(utc, month))


day = partial(_time_element, pattern="{0.day} {1} {0.year}")
"""Writes an ISO 8601 time as a day, such as 22 Nov 2026."""

moment = partial(_time_element, pattern="{0.day} {1} {0.year}, {0.hour:02}:{0.minute:02} UTC")
"""Writes an ISO 8601 time to the minute (UTC)."""

clock = partial(_time_element, pattern="{0.hour:02}:{0.minute:02}:{0.second:02} UTC")
"""Writes an ISO 8601 time as the time of day, to the second (UTC)."""


def percent(share: float | None) -> str:
    """Write a probability as a percentage, never as 0 % or 100 %: <1 %, 97 %, >99 %; ``None`` is a dash."""
    return "–" if share is None else chance(share)


def number(value: float | None, digits: int = 2) -> str:
    """Format a number, ``None`` as a dash; a whole number has thousands separators and no decimals."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.{digits}f}"


def language(code: str) -> str:
    """Return a component's name with its language in words: ``es/possessive`` becomes Spanish · possessive."""
    code_of_language, *details = code.split("/")
    return " · ".join([_translate(languages().get(code_of_language, code_of_language)), *details])


def titled(name: str) -> str:
    """Write the name of a method or a kind of service as a title, such as Round trip."""
    return _translate(name.replace("-", " ").capitalize())


def _translate(text: str) -> str:
    return cast("NullTranslations", environment().globals["translations"]).gettext(text)
