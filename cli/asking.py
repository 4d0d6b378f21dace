"""`assay probe`, `plan`, `rate` and `init`: commands about one service (options: `cli.request.rating_options`)."""

from pathlib import Path
from typing import Annotated

import typer

from cli.options import AsJson, EgressAllow, File, Number, Text, argument, option, settings_from
from cli.request.audited import AuditOptions
from cli.request.rating_options import SECRET_VARIABLE, RatingOptions, with_options


@with_options(RatingOptions)
def probe(
    options: RatingOptions,
    examine: Annotated[bool, option("Examine it as before a rating, in about ten further calls.", "--examine")] = False,
    as_json: AsJson = False,
    egress_allow: EgressAllow = None,
) -> None:
    """Ask a service one question, and print the request, the response, how it was read, and what to correct.

    The service's key is masked. The exit code is 0 if the answer could be read, and 69 if not.
    """
    from cli.rating.probe import probe_here

    raise typer.Exit(probe_here(options, settings_from(egress_allow=egress_allow), examine=examine, as_json=as_json))


Output = Annotated[str, option("text, json, markdown, junit, sarif or github (annotations).", "--format")]
JsonOutput = Annotated[bool, option("The same as --format json.", "--json")]
AtLeast = Annotated[
    Text, option("The worst letter that passes: UCS, DSBS or BS. Ends with 0, 1 below it, 3 inconclusive.")
]
Report = Annotated[File, option("Also write a report; .html, .md, .json or .txt.")]
Export = Annotated[File, option("Also write the rating with its evidence, unsigned, for `assay verify`.")]
Summary = Annotated[File, option("File that --format github appends the report to.", envvar="GITHUB_STEP_SUMMARY")]
Latency = Annotated[Number, option("Seconds of one call.", "--latency", min=0)]
PricePerCall = Annotated[Number, option("Price of one call, in any currency.", min=0)]
PricePerCharacters = Annotated[
    Number, option("Price of 1,000 characters of the questions.", "--price-per-1000-characters", min=0)
]


@with_options(RatingOptions)
def plan(
    options: RatingOptions,
    latency: Latency = None,
    price_per_call: PricePerCall = None,
    price_per_characters: PricePerCharacters = None,
    as_json: AsJson = False,
    egress_allow: EgressAllow = None,
) -> None:
    """Compute the questions, calls, time and cost of a rating, without asking the service anything.

    In the printed table, "clear at once" is the case that the first look at the answers decides the letter (a job
    shows its questions as `expected`), and "never clear" the case that no look does.
    """
    from assay.rating.plan import Service
    from cli.rating.plan import plan_here

    facts = Service(latency_s=latency, price_per_call=price_per_call, price_per_1000_characters=price_per_characters)
    raise typer.Exit(plan_here(options, settings_from(egress_allow=egress_allow), facts, as_json=as_json))


@with_options(RatingOptions)
def rate(
    options: RatingOptions,
    output: Output = "text",
    as_json: JsonOutput = False,
    dry_run: Annotated[
        bool, option("Check everything and print the plan (`assay plan`); nothing is sent.", "--dry-run")
    ] = False,
    full: Annotated[bool, option("Print every table, analysis and example.", "--full")] = False,
    verbose: Annotated[bool, option("Show every exchange with the service on standard error.", "--verbose")] = False,
    at_least: AtLeast = None,
    report: Report = None,
    export: Export = None,
    summary: Summary = None,
    egress_allow: EgressAllow = None,
) -> None:
    """Rate one service from this machine, without a server, and print the report.

    The exit code stands for the letter, so that a build can depend on it: 0 UCS, 1 DSBS, 2 BS,
    3 inconclusive, 64 an invalid request, 69 a service that could not be rated. With --at-least, it is
    0 if the declared letter is at least that good, 1 if it is worse; 3, 64 and 69 keep their meaning.

    A service on this machine needs no further option; other private networks need --egress-allow.
    """
    from cli.rating.rate import OutputOptions, rate_here

    display = OutputOptions(
        format="json" if as_json else output,
        full=full,
        report=report,
        export=export,
        at_least=at_least,
        summary=summary,
        verbose=verbose,
    )
    settings = settings_from(egress_allow=egress_allow)
    if dry_run:
        from assay.rating.plan import Service
        from cli.rating.plan import plan_here

        display.check()
        raise typer.Exit(plan_here(options, settings, Service(), as_json=display.format == "json"))
    raise typer.Exit(rate_here(options, settings, display))


@with_options(AuditOptions)
def audit(
    options: AuditOptions,
    output: Output = "text",
    as_json: JsonOutput = False,
    at_least: AtLeast = None,
    report: Report = None,
    export: Export = None,
) -> None:
    """Rate a service by a file of its recorded decisions, without calling it.

    The columns and their values are named on standard error before the result. The exit code stands for the letter, as
    that of `assay rate`; without --truth and --strata there are tables, and no letter.
    """
    from cli.rating.audit import audit_here
    from cli.rating.rate import OutputOptions

    display = OutputOptions(
        format="json" if as_json else output, full=True, report=report, export=export, at_least=at_least
    )
    raise typer.Exit(audit_here(options, settings_from(), display))


def init(
    file: Annotated[Path, argument("The file to write.")] = Path("service.toml"),
    kind: Annotated[
        str, option("translator, classifier, regressor, embedder, language-model or image-classifier.")
    ] = "translator",
    curl: Annotated[Text, option("A curl command that calls the service, in quotes.")] = None,
    openapi: Annotated[File, option("An OpenAPI document (3.x), JSON or YAML.")] = None,
    operation: Annotated[Text, option("Its operation, by operationId or as 'POST /path'.")] = None,
    text: Annotated[Text, option("The words of the call that stand for a question, if it holds several texts.")] = None,
    url: Annotated[Text, option("The server's address, instead of the OpenAPI document's.")] = None,
    secret: Annotated[Text, option("The service's key, for --try.", envvar=SECRET_VARIABLE, show_default=False)] = None,
    decides: Annotated[
        Text, option("A language model that decides: hiring or another shipped decision, or own.", metavar="NAME")
    ] = None,
    try_it: Annotated[bool, option("Send up to 5 questions to find the answer.", "--try")] = False,
    force: Annotated[bool, option("Overwrite the file.", "--force")] = False,
    egress_allow: EgressAllow = None,
) -> None:
    """Write a request file with comments, from a curl command, an OpenAPI operation, or answers at the terminal.

    A key in the command is not written to the file; put it into the variable ASSAY_TARGET_SECRET.
    """
    from assay.errors import UnknownName
    from assay.model import Kind
    from cli.drafting.init import draft_from, try_draft, write_draft

    if kind not in set(Kind):
        raise UnknownName("kind of service", kind, tuple(Kind), "kind")
    draft = draft_from(Kind(kind), curl, openapi, operation=operation, text=text, url=url, decides=decides)
    settings = settings_from(egress_allow=egress_allow)
    try:
        if try_it:
            draft = try_draft(draft, settings, secret)
    finally:  # a failed trial does not lose the draft
        write_draft(draft, file, settings, force=force)
