"""Options that many commands take, and the settings made from them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from store.core.settings import Settings

# types of parameters that may be left out
File = Path | None
Number = float | None
Text = str | None
Texts = list[str] | None


def option(description: str, *flags: str, **facts: Any) -> object:
    """Return an option of a command, named after the parameter or by `flags`; `facts` go to `typer.Option`."""
    return typer.Option(*flags, help=description, **facts)


def argument(description: str, **facts: Any) -> object:
    """Return an argument of a command; `facts` are further arguments of `typer.Argument`."""
    return typer.Argument(help=description, **facts)


DataDir = Annotated[File, option("Where embedded data lives. [env: ASSAY_DATA_DIR]")]
DatabaseUrl = Annotated[Text, option("postgresql://… or sqlite:////path.db. [env: ASSAY_DATABASE_URL]")]
EgressAllow = Annotated[
    Texts, option("Network that may be called although it is not public, e.g. 127.0.0.0/8. Repeatable.")
]
AsJson = Annotated[bool, option("Print JSON.", "--json")]


def settings_from(
    data_dir: Path | None = None,
    database_url: str | None = None,
    broker_url: str | None = None,
    egress_allow: list[str] | None = None,
    **others: object,
) -> Settings:
    """Return the settings of the environment, overridden by those options that were given."""
    from store.core.settings import Settings

    options: dict[str, Any] = {"data_dir": data_dir, "database_url": database_url, "broker_url": broker_url, **others}
    if egress_allow:
        options["egress_allow"] = ",".join(egress_allow)
    return Settings(**{name: value for name, value in options.items() if value is not None})


def require_shared_key(settings: Settings) -> None:
    """Raise `ValueError` if no key for stored secrets is configured, because several processes must share one."""
    if settings.secret_key is None:
        raise ValueError(
            "processes that share a database need one key for stored secrets: set ASSAY_SECRET_KEY to the same value "
            "for all of them, made for example with `openssl rand -hex 32`"
        )
