"""Adapter for public translators through the library deep-translator, which makes its calls itself.

The library calls fixed public addresses, reads bodies of any size, has no deadline and uses the proxy variables; the
web pages have terms of use. So the operator must allow it (`Egress(scraping=True)`), and it takes no `base_url`.

An instance of the library is not thread-safe, so every call builds its own, in one of few threads. A thread that
hangs is abandoned at the deadline, and holds its slot until it ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from assay.errors import SpecificationError, UnknownName
from assay.model import Ask, Failure, Kind, Reply, Translate
from workers.egress import CallFailed, Egress
from workers.targets.adapter import Adapter, Target, questions_for
from workers.targets.settings import TranslatorSettings

THREADS = 8
"""Maximum number of concurrent calls, even if the target's limits allow more."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Class of the library that translates text."""

    name: str
    keys: tuple[str, ...] = ()
    """Arguments that hold the secret; two are written in the secret as ``first:second``."""
    longest: int = 5000
    """Maximum length of a text in characters."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments."""
    codes: Mapping[str, str] = field(default_factory=dict)
    """The class's own codes for languages."""


# Limits and language codes, read from the classes of deep-translator 1.11.4.
TRANSLATORS: Mapping[str, Entry] = {
    "google": Entry("GoogleTranslator", longest=4999, codes={"zh": "zh-CN", "he": "iw", "jv": "jw"}),
    "my-memory": Entry(
        "MyMemoryTranslator",
        longest=499,
        codes={
            "en": "en-GB", "es": "es-ES", "fr": "fr-FR", "de": "de-DE", "it": "it-IT", "pt": "pt-PT", "nl": "nl-NL",
            "pl": "pl-PL", "ru": "ru-RU", "uk": "uk-UA", "cs": "cs-CZ", "ro": "ro-RO", "hu": "hu-HU", "tr": "tr-TR",
            "fi": "fi-FI", "sv": "sv-SE", "da": "da-DK", "el": "el-GR", "bg": "bg-BG", "ca": "ca-ES", "gl": "gl-ES",
            "eu": "eu-ES", "ar": "ar-SA", "he": "he-IL", "hi": "hi-IN", "zh": "zh-CN", "ja": "ja-JP", "ko": "ko-KR",
        },
    ),
    "libre": Entry("LibreTranslator", ("api_key",), options={"use_free_api": False}),
    "microsoft": Entry("MicrosoftTranslator", ("api_key",)),
    "baidu": Entry("BaiduTranslator", ("appid", "appkey"), codes={"es": "spa", "fr": "fra", "ja": "jp", "ko": "kor"}),
    "qcri": Entry("QcriTranslator", ("api_key",)),
}  # fmt: skip

WITHDRAWN: Mapping[str, str] = {
    "deepl": "it uses a way to log in that DeepL has withdrawn; use the protocol deepl",
    "yandex": "it uses version 1.5 of Yandex's interface, which was shut down",
    "papago": "it uses an interface that Naver has closed",
    "chat-gpt": "it needs an old release of another library; use the protocol openai-chat",
    "linguee": "it is a dictionary: it takes words, not sentences",
    "pons": "it is a dictionary: it takes words, not sentences",
}
"""Classes of the library that do not translate text, with the reason."""


# Exceptions of deep-translator and of the library requests, which it uses, by class name.
ERRORS: Mapping[str, tuple[str, bool]] = {
    "TooManyRequests": ("http-429", True),
    "ServerException": ("http-500", True),
    "RequestError": ("http-500", True),
    "MicrosoftAPIerror": ("wrong-shape", False),
    "BaiduAPIerror": ("wrong-shape", False),
    "AuthorizationException": ("auth", False),
    "ApiKeyException": ("auth", False),
    "LanguageNotSupportedException": ("unsupported", False),
    "InvalidSourceOrTargetLanguage": ("unsupported", False),
    "NotValidLength": ("unsupported", False),
    "NotValidPayload": ("unsupported", False),
    "TranslationNotFound": ("wrong-shape", True),
    "ElementNotFoundInGetRequest": ("wrong-shape", True),
    "JSONDecodeError": ("bad-json", True),
    "KeyError": ("wrong-shape", False),
    "TypeError": ("wrong-shape", False),
    "AttributeError": ("wrong-shape", True),
    "SSLError": ("tls", False),
}

SERVER_ERRORS: Mapping[Any, tuple[str, bool]] = {
    "ERR_KEY_INVALID": ("auth", False),
    "ERR_KEY_BLOCKED": ("quota", False),
    "ERR_DAILY_REQ_LIMIT_EXCEEDED": ("auth", False),
    "ERR_TOO_MANY_REQUESTS": ("http-429", True),
}
"""Messages of the library for HTTP statuses 401, 402, 403 and 429."""


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
        if reason := WITHDRAWN.get(self.translator):
            raise SpecificationError(f"translator {self.translator!r} is not offered: {reason}", "translator")
        if self.translator not in TRANSLATORS:
            raise UnknownName("translator of deep-translator", self.translator, TRANSLATORS, "translator")

    def check_secret(self, secret: str | None) -> None:
        """Raise a `SpecificationError` if the secret lacks a part that the translator needs."""
        self.arguments_of(secret)

    def arguments_of(self, secret: str | None) -> dict[str, str]:
        """Return the parts of a secret as keyword arguments of the library's class."""
        keys = TRANSLATORS[self.translator].keys
        parts = (secret or "").split(":", len(keys) - 1) if keys else []
        if len(parts) != len(keys) or not all(parts):
            raise SpecificationError(f"{self.translator} needs a secret of the form {':'.join(keys)}", "secret")
        return dict(zip(keys, parts, strict=True))


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
        self._entry = TRANSLATORS[settings.translator]
        self._secrets = settings.arguments_of(target.secret)
        self._build = build or _build(self._entry.name)
        self._places = asyncio.Semaphore(THREADS)

    async def answer(self, asks: Sequence[Ask], *, idempotency_key: str | None = None) -> Sequence[Reply]:  # noqa: ARG002
        """Translate one text; see `Adapter.answer`."""
        (ask,) = questions_for((Translate,), asks)
        if len(ask.text) > self._entry.longest:
            longest = self._entry.longest
            return [Reply(failure=Failure("unsupported", f"the text is longer than {longest:,} characters"))]
        arguments = self._client_arguments(ask)
        outcome: str | CallFailed
        try:
            async with asyncio.timeout(self.target.limits.timeout_s):
                outcome = await self._in_thread(lambda: self._translate(arguments, ask.text))
        except TimeoutError:
            outcome = CallFailed("timeout", f"no translation within {self.target.limits.timeout_s:g} s")
        if isinstance(outcome, CallFailed):
            raise outcome
        return [Reply(outcome)]

    def _client_arguments(self, ask: Translate) -> dict[str, Any]:
        codes = {**self._entry.codes, **self.settings.language_codes}
        languages = {"source": codes.get(ask.source, ask.source), "target": codes.get(ask.target, ask.target)}
        return {**self._entry.options, **languages, **self._secrets}

    def _translate(self, arguments: Mapping[str, Any], text: str) -> str | CallFailed:
        """Translate a text, in a thread; an exception is reported by its class alone."""
        try:
            answer = self._build(**arguments).translate(text, domain=self.settings.domain)
        except Exception as error:  # noqa: BLE001 - errors contain the key, so none may propagate
            return self._failure_of(type(error).__name__, error.args[:1])
        if not isinstance(answer, str):
            return CallFailed("wrong-shape", f"{self.settings.translator} gave no text")
        return answer

    def _failure_of(self, kind: str, facts: tuple[Any, ...]) -> CallFailed:
        code, retriable = ERRORS.get(kind, ("connect", True))
        if kind == "ServerException" and facts:
            code, retriable = SERVER_ERRORS.get(facts[0], (code, retriable))
        return CallFailed(code, f"{self.settings.translator} failed with {kind}", retriable=retriable)

    async def _in_thread(self, work: Callable[[], str | CallFailed]) -> str | CallFailed:
        """Run `work` in a daemon thread of its own."""
        await self._places.acquire()
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[str | CallFailed] = loop.create_future()

        def deliver(result: str | CallFailed) -> None:
            self._places.release()
            if not outcome.done():
                outcome.set_result(result)

        def run() -> None:
            result = work()
            # raised if the event loop is closed; then nobody waits for the result
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(deliver, result)

        threading.Thread(target=run, name=f"deep-translator {self.settings.translator}", daemon=True).start()
        return await outcome


def _build(name: str) -> Build:
    # imported here, because it imports requests and an HTML parser, which only this protocol needs
    import deep_translator

    build: Build = getattr(deep_translator, name)
    return build
