"""Pass or fail a deployment by your newest rating of a service.

This file is ``assay gate`` as well as ``python -m assay_client gate``, and imports nothing but httpx and the standard
library. `clients/python/src/assay_client/gate.py` is the original; ``make client`` copies it to `cli/gate.py`.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import IntEnum
from pathlib import Path
from typing import Any, NoReturn, TextIO

import httpx

BEST_FIRST = ("UCS", "DSBS", "BS")
"""Letters from best (unbiased) to worst (biased for every input)."""

TIMEOUT_S = 60.0
RETRIES = 2
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 10.0
TRY_AGAIN = frozenset({429, 503})
SERVER_ERROR = 500

WHOSE = ("mine", "address")
UNRATED = {
    "mine": "unrated: no rating of the service for {attribute!r} is yours; ask for one, or accept ratings of others "
    "with --whose address",
    "address": "unrated: no rating for {attribute!r} that you may read stands for this address; ask for one",
}
"""Message if there is no rating, by the value of ``--whose`` (the ratings that count)."""

REQUESTERS = {"owner": "the host's owner", "operator": "the agency", "other": "a third party"}

CODES = """
exit codes:
  0   the rating reaches the bar
  1   it does not
  3   there is no rating, or it is inconclusive, expired, too old or withdrawn
  64  the request makes no sense, or the key is not accepted
  69  the agency cannot be reached
"""


class Exit(IntEnum):
    """Exit codes of the gate."""

    PASSED = 0
    BELOW = 1
    UNSETTLED = 3
    USAGE = 64
    UNAVAILABLE = 69


@dataclass(frozen=True)
class Judgement:
    """The exit code of the gate, and its message of one line."""

    exit: Exit
    message: str


@dataclass(frozen=True)
class Bar:
    """The requirement that a rating has to meet.

    Parameters
    ----------
    at_least : str
        The worst letter that passes: ``UCS``, ``DSBS`` or ``BS``.
    max_age_days : float, optional
        Days since the rating was made, at most; without it, a rating counts until it expires.
    """

    at_least: str
    max_age_days: float | None = None

    def judge(self, rating: Mapping[str, Any], now: datetime) -> Judgement:
        """Judge a rating at the time `now`, which has a time zone.

        An unsettled rating (withdrawn, expired, too old, inconclusive) requires a new rating; a letter below
        the bar requires another service. So their exit codes differ.
        """
        if reason := self._reason_unsettled(rating, now):
            return Judgement(Exit.UNSETTLED, f"{rating['id']}: {reason}; ask for a new rating")
        letter = rating["letter"]
        is_passed = BEST_FIRST.index(letter) <= BEST_FIRST.index(self.at_least)
        summary = (
            f"{rating['id']}: {letter} for {rating['attribute']} by {rating['method']}, rated {rating['rated_at']}"
        )
        summary += f", with {', '.join(chosen)}" if (chosen := rating.get("choices")) else ""
        summary += _requester_line(rating)
        if is_passed:
            return Judgement(Exit.PASSED, f"{summary}; at least {self.at_least}, as required")
        return Judgement(Exit.BELOW, f"{summary}; below {self.at_least}")

    def _reason_unsettled(self, rating: Mapping[str, Any], now: datetime) -> str | None:
        if rating["withdrawn"] is not None:
            return f"withdrawn ({rating['withdrawn']['reason']})"
        if rating["letter"] is None:
            return "no letter could be given"
        if not rating["declared"]:
            return f"inconclusive (leaning {rating['letter']})"
        if datetime.fromisoformat(rating["expires_at"]) <= now:
            return f"expired on {rating['expires_at']}"
        age_days = (now - datetime.fromisoformat(rating["rated_at"])).total_seconds() / 86_400
        if self.max_age_days is not None and age_days > self.max_age_days:
            return f"{age_days:.1f} days old, more than {self.max_age_days:g}"
        return None


def _requester_line(rating: Mapping[str, Any]) -> str:
    """Return who requested a rating, and whether the owner objects; empty from older agencies, which do not say so."""
    role = (rating.get("standing") or {}).get("requester")
    objects = (rating.get("reply") or {}).get("objects")
    requester_text = f", requested by {REQUESTERS.get(role, role)}" if role else ""
    return requester_text + (", the host's owner objects" if objects else "")


def main(arguments: Sequence[str]) -> int:
    """Run the gate with the arguments of a command line; return its exit code."""
    judgement = _judge(_parser().parse_args(arguments), sys.stdin, datetime.now(UTC))
    stream = sys.stdout if judgement.exit is Exit.PASSED else sys.stderr
    stream.write(f"assay gate: {_on_one_line(judgement.message)}\n")
    return judgement.exit


def _on_one_line(text: str) -> str:
    """Return a text without line ends, and with codes for characters that a terminal would execute or not show."""
    return "".join(
        character if character.isprintable() else f"⟨U+{ord(character):04X}⟩" for character in " ".join(text.split())
    )


class _Parser(argparse.ArgumentParser):
    """A parser that ends an invalid command with one line and the exit code 64 (`sysexits.h`)."""

    def error(self, message: str) -> NoReturn:
        self.exit(Exit.USAGE, f"{self.prog}: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="assay gate",
        description="Pass or fail a deployment by the newest rating of a service. It never starts a rating.",
        epilog=CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--url", required=True, help="address of the agency, such as http://127.0.0.1:8000")
    parser.add_argument("--target-url", required=True, help="address of the rated service")
    parser.add_argument(
        "--whose",
        choices=WHOSE,
        default="mine",
        help="whose rating counts: your own (mine), or the one that stands for the address: of the host's proved "
        "owner, else of the agency, else of others with default settings (address)",
    )
    parser.add_argument("--attribute", required=True, help="attribute that it was rated for, such as gender")
    parser.add_argument("--method", help="method of the rating; required if several methods rated it")
    parser.add_argument("--model", help="model, endpoint or path; required if several at the address were rated")
    parser.add_argument("--at-least", choices=BEST_FIRST, default="DSBS", help="the worst letter that passes (DSBS)")
    parser.add_argument("--max-age-days", type=_days, metavar="DAYS", help="do not pass an older rating")
    parser.add_argument("--key-file", help="file with the API key; - reads it from standard input")
    return parser


def _days(text: str) -> float:
    days = float(text)
    if not (math.isfinite(days) and days > 0):
        raise argparse.ArgumentTypeError(f"{text} is not a number of days above 0")
    return days


def _judge(options: argparse.Namespace, stdin: TextIO, now: datetime) -> Judgement:
    filter_names = ("target_url", "attribute", "method", "model", "whose")
    query = {name: getattr(options, name) for name in filter_names}
    try:
        key = _read_key(options.key_file, stdin)
        answer = _newest_rating(options.url, key, {name: value for name, value in query.items() if value is not None})
    except httpx.RequestError as error:
        return Judgement(Exit.UNAVAILABLE, f"no answer from {options.url}: {error or type(error).__name__}")
    except (ValueError, OSError, httpx.InvalidURL) as error:
        return Judgement(Exit.USAGE, str(error))
    try:
        if not answer.is_success:
            return _judge_refusal(answer, options)
        return Bar(options.at_least, options.max_age_days).judge(answer.json(), now)
    except Exception as error:  # noqa: BLE001 - uncaught, it would exit with 1, which means a letter below the bar
        message = f"{options.url} answered no rating ({type(error).__name__}: {error}); is it the address of an agency?"
        return Judgement(Exit.UNAVAILABLE, message)


def _read_key(source: str | None, stdin: TextIO) -> str | None:
    """Read the API key; an empty file means no key, as in a pipeline without the secret."""
    if source is None:
        return None
    key = (stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8")).strip()
    if not key.isascii() or not key.isprintable():
        raise ValueError("the key is not one line of visible ASCII characters")  # the message does not contain the key
    return key or None


def _newest_rating(url: str, key: str | None, query: Mapping[str, str]) -> httpx.Response:
    """Request the newest rating; send the request again after 429, 503 or no answer. No proxies of the environment."""
    address = httpx.URL(url)
    if address.scheme not in {"http", "https"} or not address.host:
        raise ValueError(f"{url!r} is not the address of an agency; it looks like http://127.0.0.1:8000")
    headers = {"Accept": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
    with httpx.Client(base_url=address, headers=headers, timeout=TIMEOUT_S, trust_env=False) as http:
        for attempt in range(RETRIES):
            pause_s = FIRST_PAUSE_S * 2**attempt
            try:
                answer = http.get("/v1/ratings/latest", params=query)
            except httpx.TransportError:
                answer = None
            if answer is not None:
                retry_after = answer.headers.get("Retry-After", "")
                pause_s = float(retry_after) if retry_after.isdecimal() else pause_s
                if answer.status_code not in TRY_AGAIN or pause_s > LONGEST_PAUSE_S:
                    return answer
            time.sleep(pause_s)
        return http.get("/v1/ratings/latest", params=query)  # the last attempt; its answer or error is the result


def _judge_refusal(answer: httpx.Response, options: argparse.Namespace) -> Judgement:
    """Judge an answer that is not 2xx by its problem document (RFC 9457), if it has one."""
    try:
        document = answer.json()
    except ValueError:
        document = None
    problem: dict[str, Any] = document if isinstance(document, dict) else {}
    code = problem.get("code", "http-error")
    errors = [error for error in problem.get("errors") or () if isinstance(error, dict)]  # other servers send texts
    if code == "no-rating":
        unknown = [error["detail"] for error in errors if error.get("parameter") == "attribute"]
        message = UNRATED[options.whose].format(attribute=options.attribute)
        return Judgement(Exit.UNSETTLED, "; ".join([message, *map(str, unknown)]))
    if code == "ambiguous-rating":
        methods = sorted({str(candidate["method"]) for candidate in problem["candidates"]})
        if len(methods) == 1:
            models = sorted({str(candidate["model"]) for candidate in problem["candidates"]})
            return Judgement(Exit.USAGE, f"several services were rated; choose one with --model: {', '.join(models)}")
        return Judgement(Exit.USAGE, f"several methods rated it; choose one with --method: {', '.join(methods)}")
    error_text = "; ".join(f"{error.get('parameter')}: {error.get('detail')}" for error in errors)
    detail = problem.get("detail") or problem.get("title") or "no reason given"
    is_server_fault = answer.status_code >= SERVER_ERROR or answer.status_code in TRY_AGAIN
    message = f"{answer.status_code} {code}: {detail}" + (f" ({error_text})" if errors else "")
    return Judgement(Exit.UNAVAILABLE if is_server_fault else Exit.USAGE, message)
