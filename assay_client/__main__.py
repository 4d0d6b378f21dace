"""``python -m assay_client gate …``: one clean line, and an exit code that a pipeline understands."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn, TextIO

from assay_client.client import Client
from assay_client.errors import ProblemError, UnexpectedAnswer, Unreachable
from assay_client.exchange import Patience
from assay_client.gate import BEST_FIRST, Bar, Exit, Judgement

PATIENCE = Patience(retries=2, longest_pause_s=10.0)
SERVERS_FAULT = 500
TOO_MANY = 429

CODES = """
exit codes:
  0   the newest rating reaches the bar
  1   it does not
  3   there is none, or it settles nothing: inconclusive, expired, too old or withdrawn
  64  the question makes no sense, or the key is not accepted
  69  the agency cannot be reached
"""


class _Parser(argparse.ArgumentParser):
    """A parser that ends as `sysexits.h` has it, with one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(Exit.USAGE, f"{self.prog}: {message}\n")


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    whole = _Parser(prog="assay_client", description="Ask an Assay agency from a pipeline.")
    commands = whole.add_subparsers(dest="command", required=True)
    gate = commands.add_parser(
        "gate",
        help="pass or fail a deployment by a service's newest rating",
        description="Pass or fail a deployment by a service's newest rating. Reads only: it never starts a rating.",
        epilog=CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    gate.add_argument("--url", required=True, help="address of the agency, such as http://127.0.0.1:8000")
    gate.add_argument("--target-url", required=True, help="address of the rated service, exactly as it was rated")
    gate.add_argument("--attribute", required=True, help="what it is rated for, such as gender")
    gate.add_argument("--method", help="how it was rated; needed where several methods were")
    gate.add_argument("--at-least", choices=BEST_FIRST, default="DSBS", help="the worst letter that passes (DSBS)")
    gate.add_argument("--max-age-days", type=_days, metavar="DAYS", help="pass no rating that is older")
    gate.add_argument("--key-file", help="file with the API key; - reads it from standard input")
    return whole


def _days(written: str) -> float:
    days = float(written)
    if not (math.isfinite(days) and days > 0):
        raise argparse.ArgumentTypeError(f"{written} is no number of days above 0")
    return days


def judged(options: argparse.Namespace, stdin: TextIO, now: datetime) -> Judgement:
    """Look the newest rating up and judge it."""
    try:
        with Client(options.url, _key(options.key_file, stdin), patience=PATIENCE) as agency:
            rating = agency.latest_rating(options.target_url, attribute=options.attribute, method=options.method)
    except ProblemError as problem:
        return _refused(problem)
    except (Unreachable, UnexpectedAnswer) as why:
        return Judgement(Exit.UNAVAILABLE, str(why))
    except (ValueError, OSError) as why:
        return Judgement(Exit.USAGE, str(why))
    try:
        return Bar(options.at_least, options.max_age_days).judge(rating, now)
    except (KeyError, TypeError, ValueError) as why:
        # an uncaught error would end with 1, which means something else here
        said = f"{options.url} answered something that is no rating ({type(why).__name__}: {why})"
        return Judgement(Exit.UNAVAILABLE, said)


def _refused(problem: ProblemError) -> Judgement:
    if problem.code == "no-rating":
        return Judgement(Exit.UNSETTLED, "unrated: no rating that this key may see; ask for one")
    if problem.code == "ambiguous-rating":
        methods = sorted({str(one["method"]) for one in problem.document.get("candidates", ())})
        return Judgement(Exit.USAGE, f"several methods rated it; give one of them as --method: {', '.join(methods)}")
    fault = problem.status >= SERVERS_FAULT or problem.status == TOO_MANY
    return Judgement(Exit.UNAVAILABLE if fault else Exit.USAGE, str(problem))


def _key(place: str | None, stdin: TextIO) -> str | None:
    """Read the key; an empty one is none, as where a pipeline has no such secret."""
    if place is None:
        return None
    written = stdin.read() if place == "-" else Path(place).read_text(encoding="utf-8")
    return written.strip() or None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and give its exit code."""
    judgement = judged(parser().parse_args(arguments), sys.stdin, datetime.now(UTC))
    where = sys.stdout if judgement.exit is Exit.PASSED else sys.stderr
    where.write(f"assay gate: {' '.join(judgement.said.split())}\n")
    return judgement.exit


if __name__ == "__main__":
    sys.exit(main())
