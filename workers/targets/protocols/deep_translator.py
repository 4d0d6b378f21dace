"""Adapter for public translators through the library deep-translator, which makes its calls itself.

The library calls fixed public addresses, reads bodies of any size, has no deadline and uses the proxy variables; the
web pages have terms of use. So the operator must allow it (`Egress(scraping=True)`), and it takes no `base_url`.

An instance of the library is not thread-safe, so every call builds its own, in one of few threads. A thread that
hangs is abandoned at the deadline, and holds its slot until it ends.
"""

import asyncio
import contextlib
import threading
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, ClassVar

from assay.errors import SpecificationError, UnknownName
from assay.model import Ask, Failure, Kind, Reply, Translate
from workers.egress import CallFailed, Egress
from workers.targets.adapter import Adapter, Target, questions_for
from workers.targets.settings import TranslatorSettings

THREADS = 8
"""Maximum number of concurrent calls, even if the target's limits allow more."""


@dataclass(frozen=True, slots=True)
class Translator:
    """Facts about a translator class of the library deep-translator."""

    name: str
    keys: Sequence[str] = ()
    """Arguments that hold the secret; two are written in the secret as ``first:second``."""
    longest: int = 5000
    """Maximum length of a text in characters."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of the class."""
    codes: Mapping[str, str] = field(default_factory=dict)
    """The class's own codes for languages."""


_TABLES = tomllib.loads(files(__package__).joinpath("deep_translator.toml").read_text("utf-8"))

TRANSLATORS: Mapping[str, Translator] = {name: Translator(**facts) for name, facts in _TABLES["translators"].items()}

UNSUPPORTED_TRANSLATORS: Mapping[str, str] = _TABLES["withdrawn"]
"""Classes of the library that do not translate text, with the reason."""

ERRORS: Mapping[str, Sequence[Any]] = _TABLES["errors"]
"""Code of the failure and whether a retry may help, by the class name of an exception of the library or of requests."""


@dataclass(frozen=True, kw_only=True)
class DeepTranslatorSettings(TranslatorSettings):
    """Settings of a translator reached through deep-translator."""

    translator: str = "google"
    """Translator of the library: google, my-memory, libre, microsoft, baidu or qcri."""
    domain: str = "general-fast"
    """Subject domain of qcri's translations."""
    auth: None = None
    """Always null: the library itself sends the secret."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if reason := UNSUPPORTED_TRANSLATORS.get(self.translator):
            raise SpecificationError(f"translator {self.translator!r} is not offered: {reason}", "translator")
        if self.translator not in TRANSLATORS:
            raise UnknownName("translator of deep-translator", self.translator, TRANSLATORS, "translator")

    def check_secret(self, secret: str | None) -> None:
        """Raise a `SpecificationError` if the secret lacks a part that the translator needs."""
        self.arguments_of(secret)

    def arguments_of(self, secret: str | None) -> dict[str, str]:
        """Return the parts of a secret as keyword arguments of the library's class."""
        argument_names = TRANSLATORS[self.translator].keys
        secret_parts = (secret or "").split(":", len(argument_names) - 1) if argument_names else []
        if len(secret_parts) != len(argument_names) or not all(secret_parts):
            form = ":".join(argument_names)
            raise SpecificationError(f"{self.translator} needs a secret of the form {form}", "secret")
        return dict(zip(argument_names, secret_parts, strict=True))


Build = Callable[..., Any]
"""Function that builds an instance of one of the library's classes from keyword arguments."""


class DeepTranslator(Adapter):
    """Adapter that translates one text per call with the library; `build` replaces the class that the settings name."""

    protocol: ClassVar[str] = "deep-translator"
    summary: ClassVar[str] = "Public translators through the library deep-translator; scraped, not reproducible"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.TRANSLATOR})
    settings_type: ClassVar[type] = DeepTranslatorSettings
    needs_url: ClassVar[bool] = False
    reproducible: ClassVar[bool] = False
    notes: ClassVar[tuple[str, ...]] = (
        "only where the operator allows it: the library calls public addresses beside the guard",
        "public pages change, throttle and have terms of use; the rating says that it was scraped",
        "libre, microsoft and qcri need a secret; baidu needs appid:appkey",
    )

    def __init__(
        self, target: Target, settings: DeepTranslatorSettings, egress: Egress, build: Build | None = None
    ) -> None:
        if not egress.scraping:
            raise CallFailed("unsupported", "the operator of this service does not allow scraped translators")
        self.target, self.settings = target, settings
        self.batch_limit = 1
        self._translator = TRANSLATORS[settings.translator]
        self._secrets = settings.arguments_of(target.secret)
        self._build = build or _library_class(self._translator.name)
        self._thread_slots = asyncio.Semaphore(THREADS)

    async def answer(self, asks: Sequence[Ask], *, idempotency_key: str | None = None) -> Sequence[Reply]:  # noqa: ARG002
        """Translate one text; see `Adapter.answer`."""
        (ask,) = questions_for((Translate,), asks)
        if len(ask.text) > self._translator.longest:
            longest = self._translator.longest
            return [Reply(failure=Failure("unsupported", f"the text is longer than {longest:,} characters"))]
        arguments = self._client_arguments(ask)
        try:
            async with asyncio.timeout(self.target.limits.timeout_s):
                outcome = await self._in_thread(lambda: self._translate(arguments, ask.text))
        except TimeoutError:
            raise CallFailed("timeout", f"no translation within {self.target.limits.timeout_s:g} s") from None
        if isinstance(outcome, CallFailed):
            raise outcome
        return [Reply(outcome)]

    def _client_arguments(self, ask: Translate) -> dict[str, Any]:
        codes = {**self._translator.codes, **self.settings.language_codes}
        languages = {"source": codes.get(ask.source, ask.source), "target": codes.get(ask.target, ask.target)}
        return {**self._translator.options, **languages, **self._secrets}

    def _translate(self, arguments: Mapping[str, Any], text: str) -> str | CallFailed:
        """Translate a text; called in a thread. An exception is returned as a failure that names only its class."""
        try:
            answer = self._build(**arguments).translate(text, domain=self.settings.domain)
        except Exception as error:  # noqa: BLE001 - errors contain the key, so none may propagate
            return self._failure_of(type(error).__name__, error.args[:1])
        if not isinstance(answer, str):
            return CallFailed("wrong-shape", f"{self.settings.translator} gave no text")
        return answer

    def _failure_of(self, error_name: str, error_arguments: tuple[Any, ...]) -> CallFailed:
        code, retriable = ERRORS.get(error_name, ("connect", True))
        if error_name == "ServerException" and error_arguments:
            code, retriable = _TABLES["server_errors"].get(error_arguments[0], (code, retriable))
        return CallFailed(code, f"{self.settings.translator} failed with {error_name}", retriable=retriable)

    async def _in_thread(self, translate: Callable[[], str | CallFailed]) -> str | CallFailed:
        """Run `translate` in a daemon thread of its own, so that a call that hangs blocks nothing else."""
        await self._thread_slots.acquire()
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[str | CallFailed] = loop.create_future()

        def deliver(result: str | CallFailed) -> None:
            self._thread_slots.release()
            if not outcome.done():  # it is done if the call was cancelled at its deadline
                outcome.set_result(result)

        def run() -> None:
            result = translate()
            # raised if the event loop is closed; then nobody waits for the result
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(deliver, result)

        threading.Thread(target=run, name=f"deep-translator {self.settings.translator}", daemon=True).start()
        return await outcome


def _library_class(name: str) -> Build:
    """Import a class of deep_translator, only when it is needed: that loads requests and an HTML parser."""
    import deep_translator

    build: Build = getattr(deep_translator, name)
    return build
