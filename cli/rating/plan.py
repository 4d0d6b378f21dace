"""`assay plan` and `assay rate --dry-run`: questions and time of a rating; nothing is sent or stored."""

import sys
from collections.abc import Iterator
from dataclasses import replace

from assay.experiment import generator
from assay.explain import chance
from assay.rating.plan import Effort, Plan, Service, plan_of
from cli.exits import Exit
from cli.rating.local_job import check_second_service
from cli.request.rating_options import RatingOptions
from cli.request.request import method_of_request, networks, read_request
from cli.terminal import print_json
from reports.plain import escape_hidden
from store.core.settings import Settings
from workers.targets.checks.examination import text_of_question
from workers.targets.registry import TargetChecker, check_target, read_target, with_tightened_limits

SHOWN_QUESTIONS = 5
"""Number of first questions that a plan shows."""


def plan_here(arguments: RatingOptions, settings: Settings, service_facts: Service, *, as_json: bool) -> Exit:
    """Check a request as for a rating, and print its plan with the first questions.

    `service_facts` has the prices and the latency; the request fills in the rest.
    """
    request = read_request(arguments)
    method = method_of_request(request)
    check_target(request["target"], networks(settings), scraping=settings.allow_scraping)
    check_second_service(method, request, settings)
    limits = with_tightened_limits(read_target(request["target"])).limits
    service = replace(
        service_facts,
        questions_per_call=TargetChecker(settings).questions_per_call(request["target"]),
        concurrency=limits.concurrency,
        requests_per_second=limits.requests_per_second,
    )
    plan = plan_of(method, service, seed=request["seed"], max_calls=request["max_calls"])
    first_batch = next(method.design(generator(request["seed"])), ())
    first_texts = [text_of_question(probe.ask) for probe in first_batch]
    if as_json:
        facts = {"questions_per_call": service.questions_per_call, "first_questions": first_texts[:SHOWN_QUESTIONS]}
        print_json(plan.as_json() | facts)
        return Exit.OK
    title = f"{request['target']['name']} by {method.method}"
    sys.stdout.write("\n".join(map(escape_hidden, _plan_lines(title, plan, service, first_texts))) + "\n")
    return Exit.OK


def _plan_lines(title: str, plan: Plan, service: Service, first_texts: list[str]) -> Iterator[str]:
    """Yield the lines of a plan: its numbers, the chance that a letter is declared, and the first questions."""
    yield f"{title}; nothing was sent"
    yield f"{'':<20}{'questions':>10}{'calls':>10}{'seconds':>10}{'cost':>10}"
    yield _effort_line("clear at once", plan.clear)  # if the first look at the answers decides the letter
    yield _effort_line("never clear", plan.at_most)  # if no look does
    yield f"A call carries up to {service.questions_per_call} questions; repeated calls are not counted."
    if plan.clear.seconds is None:
        yield "Seconds need --latency, which `assay probe` shows."
    if plan.clear.cost is None:
        yield "The cost needs --price-per-call or --price-per-1000-characters."
    if plan.declared is not None:
        chances = ", ".join(f"{chance(power.probability)} at {power.effect:g}" for power in plan.declared)
        yield f"Chance that a letter is declared, by the true effect: {chances}."
    elif plan.why_unknown:
        yield f"The chance of a letter is not known: {plan.why_unknown}."
    for index, question in enumerate(first_texts[:SHOWN_QUESTIONS]):
        yield f"{'first' if index == 0 else '':<8}{question}"


def _effort_line(name: str, effort: Effort) -> str:
    numbers = (effort.questions, effort.calls, effort.seconds, effort.cost)
    return f"{name:<20}" + "".join(f"{'-' if number is None else f'{number:,}':>10}" for number in numbers)
