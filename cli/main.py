"""`assay`: run the agency, rate a service from the shell, list what a request can name.

Every command imports what it needs when it is called, so that ``assay --help`` stays quick.
"""

import sys
from datetime import datetime
from functools import partial
from importlib.util import find_spec
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from cli.asking import audit, init, plan, probe, rate
from cli.exits import Exit
from cli.options import AsJson, DatabaseUrl, DataDir, EgressAllow, File, Text, Texts, argument, option, settings_from


class Commands(TyperGroup):
    """Command group whose help lists each command with the whole first paragraph of its docstring."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Find a command, and set the text with which `assay --help` lists it."""
        if (command := super().get_command(ctx, cmd_name)) and command.help:
            command.short_help = command.help.partition("\n\n")[0]
        return command


# Help is plain text, because importing rich for it would double the time of `assay --help`.
commands = partial(typer.Typer, cls=Commands, no_args_is_help=True, rich_markup_mode=None)
app = commands(
    name="assay",
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""
An independent bias-rating agency for AI services.

Assay shows a service known material, measures what comes out, and stamps a letter:
UCS (unbiased compensating), DSBS (follows the bias of its data), BS (biased) —
or says honestly that the evidence is inconclusive.

Start with `assay demo`. Then rate a service of your own:

\b
    assay rate --protocol libretranslate --url http://127.0.0.1:5000 --language es

or run the agency with its REST API: `assay serve`.
""",
)

Host = Annotated[
    Text, option("Address to listen on. Anything but loopback asks for API keys. [default: 127.0.0.1, env: ASSAY_HOST]")
]
Port = Annotated[
    int | None, option("Port to listen on; 0 takes a free one. [default: 8000, env: ASSAY_PORT]", min=0, max=65535)
]
Month = Annotated[datetime | None, option("Month, such as 2026-01.", formats=["%Y-%m"])]
Search = Annotated[Text, option("Only those that contain this text.")]
BrokerUrl = Annotated[
    Text, option("Ring for separate workers, not an embedded one (redis:// or amqp://…). [env: ASSAY_BROKER_URL]")
]


@app.command()
def serve(
    host: Host = None,
    port: Port = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    broker_url: BrokerUrl = None,
    egress_allow: EgressAllow = None,
) -> None:
    """Run the agency: REST API, documentation page and, by default, a worker in the same process.

    By default, everything runs in one process: SQLite in the data directory, and no broker. With
    --broker-url, the API notifies workers that `assay worker` started.
    """
    from cli.agency.serve import serve_api

    serve_api(settings_from(data_dir, database_url, broker_url, egress_allow, host=host, port=port))


@app.command()
def worker(
    database_url: DatabaseUrl = None,
    broker_url: BrokerUrl = None,
    concurrency: Annotated[int | None, option("Jobs at a time in this worker.", min=1)] = None,
    egress_allow: EgressAllow = None,
) -> None:
    """Run a worker for `assay serve --broker-url …` (Celery, one process per job)."""
    from cli.agency.work import run_worker

    settings = settings_from(
        database_url=database_url, broker_url=broker_url, egress_allow=egress_allow, worker_concurrency=concurrency
    )
    run_worker(settings)


@app.command()
def migrate(data_dir: DataDir = None, database_url: DatabaseUrl = None) -> None:
    """Bring the database to the schema of this version. Safe to run twice, or from two machines."""
    from cli.agency.serve import migrate_database

    migrate_database(settings_from(data_dir, database_url))


for _command in (init, probe, plan, rate, audit):
    app.command()(_command)


@app.command("audit-report")
def audit_report(
    ratings: Annotated[
        list[Path], argument("Ratings of recorded decisions as JSON, as `assay audit --format json` prints.")
    ],
    report: Annotated[Path, option("File to write; the end of its name chooses the report: acme.ll144.html.")],
) -> None:
    """Write the audits of several tools, or steps of a process, as one file for regulators."""
    from cli.rating.audit import write_audits

    write_audits(ratings, report)


@app.command()
def compare(
    before: Annotated[Path, argument("A rating as JSON, as `assay rate --json` prints it.")],
    after: Annotated[Path, argument("Another, of the same words.")],
    as_json: Annotated[bool, option("Print the comparison as JSON.", "--json")] = False,
) -> None:
    """Compare two ratings by the method association word by word, such as before and after debiasing."""
    from cli.rating.compare import compare_files

    compare_files(before, after, as_json=as_json)


@app.command("side-by-side")
def side_by_side(
    ratings: Annotated[list[Path], argument("Two ratings or more as JSON, as `assay rate --json` prints them.")],
    without: Annotated[
        Texts, option("Part, such as a language, to leave out of a second overall letter. Repeatable.")
    ] = None,
    vote: Annotated[bool, option("Aggregate the parts by vote instead of the worst.", "--vote")] = False,
    as_json: Annotated[bool, option("Print the table as JSON.", "--json")] = False,
) -> None:
    """Print the letters of two or more services side by side, part by part, with an overall letter for each service."""
    from cli.rating.compare import show_side_by_side

    show_side_by_side(ratings, without or [], vote=vote, as_json=as_json)


@app.command()
def compose(
    chain: Annotated[
        list[str], argument("Letters (UCS, DSBS, BS) or ratings as JSON files, in the order the services are called.")
    ],
    table: Annotated[str, option("Which table gives the headline: published or revised.")] = "published",
    as_json: Annotated[bool, option("Print the composition as JSON.", "--json")] = False,
) -> None:
    """Infer the rating of a chain of services from their ratings. The exit code stands for the inferred letter."""
    from cli.rating.compose import compose_named

    raise typer.Exit(compose_named(chain, table=table, as_json=as_json))


@app.command()
def rerate(
    ratings: Annotated[Texts, argument("Ids of ratings. [default: all that lack it]")] = None,
    methodology: Annotated[str, option("Version to rate by; see GET /v1/methodology.")] = "current",
    export: Annotated[File, option("An exported rating instead of the database.")] = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Rate recorded evidence by another version of the methodology, without calling any service.

    The new letter is stored beside each rating, which itself does not change. The exit code is 69 if the
    evidence of a rating was altered, or lacks answers that the version needs.
    """
    from cli.rating.rerate import rerate_database, rerate_export

    if export is not None and ratings:
        raise typer.BadParameter("give ids of ratings or --export, not both")
    if export is not None:
        raise typer.Exit(rerate_export(export, methodology))
    raise typer.Exit(rerate_database(settings_from(data_dir, database_url), methodology, ratings or []))


@app.command()
def archive(
    before: Month = None,
    to: Annotated[Text, option("Folder, or s3://bucket/prefix (needs the extra s3).")] = None,
    restore: Month = None,
    compact: Annotated[bool, option("Shrink the database, which blocks writing.", "--compact")] = False,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Move the evidence of jobs that finished --before a month --to sealed files, or --restore a month."""
    from cli.agency import archive as evidence

    if restore and not (before or to or compact):
        evidence.restore(settings_from(data_dir, database_url), restore)
    elif before and to and not restore:
        evidence.archive(settings_from(data_dir, database_url), before, to, compact=compact)
    else:
        raise typer.BadParameter("give --before MONTH and --to PLACE, or --restore MONTH")


@app.command()
def verify(
    file: Annotated[Path, argument("An export; or attestation.json, a proof or a checkpoint of the log, with --keys.")],
    keys: Annotated[File, option("A key set that you trust: the agency's /.well-known/jwks.json, saved.")] = None,
    replay: Annotated[
        bool, option("Rate the recorded observations again, and compare to the last bit.", "--replay")
    ] = False,
    recorded: Annotated[
        File, option("A file of decisions: count it again, and compare each count with the rating.", "--from")
    ] = None,
    encoding: Annotated[Text, option("Encoding of a CSV file that is not UTF-8.")] = None,
    decimal: Annotated[Literal["point", "comma"] | None, option("Sign before decimals in a CSV file.")] = None,
    sheet: Annotated[Text, option("Sheet of an xlsx file. [default: the only one with cells]")] = None,
    witness: Annotated[Texts, option("Key of a witness that you trust, NAME+ID+KEY. Repeatable.")] = None,
    witnesses: Annotated[
        int | None, option("How many of them must have cosigned the checkpoint. [default: all]", min=0)
    ] = None,
    checkpoint: Annotated[File, option("A checkpoint that you kept; the log must begin with it.")] = None,
    proof: Annotated[File, option("Proof of growth from there: GET /v1/log/proof/consistency, saved.")] = None,
) -> None:
    """Verify a rating's export or the log offline: check all signatures, and compute every digest again.

    The exit code is 0 if nothing was changed since it was sealed, or else 65, with one line that names the differences.
    """
    from cli.rating.verify import LogRules, RecordedFile, verify_file

    log = LogRules.read(witness or [], required=witnesses, earlier=checkpoint, proof=proof)
    decisions = None if recorded is None else RecordedFile(recorded, encoding=encoding, decimal=decimal, sheet=sheet)
    verify_file(file, keys=keys, replay=replay, log=log, recorded=decisions)


@app.command()
def demo(
    keep: Annotated[bool, option("Leave the agency and the services up afterwards.", "--keep")] = False,
    reports: Annotated[File, option("Folder for the html reports.")] = None,
) -> None:
    """Rate demonstration services of every kind, with known bias, over the real API, and print a table of results."""
    if find_spec("demo") is None:
        raise typer.BadParameter("the services of known bias are not installed; from a checkout: pip install ./demo")
    from cli.demo.demo import run_demo

    raise typer.Exit(run_demo(keep=keep, reports=reports))


@app.command(add_help_option=False, context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
def gate(context: typer.Context) -> None:
    """Pass or fail a deployment by the newest rating of a service; `assay gate --help` lists its options."""
    from cli.gate import main

    raise typer.Exit(main(context.args))


@app.command()
def mcp(
    agency: Annotated[
        str, option("Address of the agency.", envvar="ASSAY_AGENCY", show_envvar=True)
    ] = "http://127.0.0.1:8000",
    key: Annotated[
        Text, option("API key. Prefer the variable: others can see command lines.", envvar="ASSAY_KEY")
    ] = None,
) -> None:
    """Serve tools for an AI agent (MCP, standard input and output): find, explain, plan, request and verify ratings.

    The agent's program starts this command (Model Context Protocol). An agency offers the same tools over HTTP at /mcp.
    """
    from cli.agency.mcp import serve_tools

    serve_tools(agency, key)


keys = commands(help="Make, list and revoke API keys.")
app.add_typer(keys, name="keys")


@keys.command("create")
def create_key(
    name: Annotated[str, option("Whose key it is.")],
    scope: Annotated[Texts, option("jobs:write, ratings:read, targets:write, metrics:read, admin …")] = None,
    tenant: Annotated[str, option("Whose rows the key sees.")] = "default",
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Create an API key and print it; it is shown only once."""
    from cli.agency.keys import create

    create(settings_from(data_dir, database_url), name, scope or ["jobs:write", "ratings:read"], tenant)


@keys.command("list")
def list_keys(
    tenant: str = "default",
    search: Search = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
) -> None:
    """List the keys of a tenant, without their secrets."""
    from cli.agency.keys import show

    show(settings_from(data_dir, database_url), tenant, search, as_json=as_json)


signing = commands(help="Manage the keys that certificates are signed with.")
keys.add_typer(signing, name="signing")


@signing.command("list")
def list_signing_keys(
    as_jwks: Annotated[bool, option("Print the public keys as a JSON Web Key Set.", "--jwks")] = False,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
) -> None:
    """List the agency's signing keys, retired ones included."""
    from cli.agency.keys import show_signing

    show_signing(settings_from(data_dir, database_url), as_jwks=as_jwks)


@signing.command("rotate")
def rotate_signing_key(data_dir: DataDir = None, database_url: DatabaseUrl = None) -> None:
    """Retire the present signing key and make a new one. Existing signatures stay valid."""
    from cli.agency.keys import rotate_signing

    rotate_signing(settings_from(data_dir, database_url))


@keys.command("revoke")
def revoke_key(
    key_id: Annotated[str, argument("The key's id, as `assay keys list` shows it.")],
    tenant: str = "default",
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Revoke a key at once."""
    from cli.agency.keys import revoke

    revoke(settings_from(data_dir, database_url), key_id, tenant)


secrets = commands(help="Manage stored secrets.")
app.add_typer(secrets, name="secrets")


@secrets.command("rotate")
def rotate_secrets(data_dir: DataDir = None, database_url: DatabaseUrl = None) -> None:
    """Reseal (encrypt again) stored secrets with ASSAY_SECRET_KEY; ASSAY_SECRET_KEY_OLDER has the keys that open them.

    Safe while the agency runs, and safe to repeat. The exit code is 69 if no key opens one of the secrets.
    """
    from cli.agency.keys import rotate_secrets

    raise typer.Exit(rotate_secrets(settings_from(data_dir, database_url)))


Name = Annotated[Text, argument("Only this one, with everything about it.")]
OfKind = Annotated[
    Text, option("translator, classifier, regressor, embedder, language-model or image-classifier.", "--kind")
]


@app.command()
def methods(name: Name = None, kind: OfKind = None, search: Search = None, as_json: AsJson = False) -> None:
    """List the methods that measure bias."""
    from cli.catalog import show_methods

    show_methods(name, kind, search, as_json=as_json)


@app.command()
def attributes(name: Name = None, search: Search = None, as_json: AsJson = False) -> None:
    """List the attributes that can be tested, with their values."""
    from cli.catalog import show_attributes

    show_attributes(name, search, as_json=as_json)


@app.command()
def specifications(
    name: Name = None,
    attribute: Annotated[Text, option("Only those about this attribute.")] = None,
    search: Search = None,
    as_json: AsJson = False,
) -> None:
    """List the shipped word lists that methods use, with their sources."""
    from cli.catalog import show_specifications

    show_specifications(name, attribute, search, as_json=as_json)


@app.command()
def protocols(name: Name = None, kind: OfKind = None, search: Search = None, as_json: AsJson = False) -> None:
    """List the protocols of services that can be rated; with a name, list every setting of this protocol."""
    from cli.catalog import show_protocols

    show_protocols(name, kind, search, as_json=as_json)


@app.command("import")
def import_catalog(
    files: Annotated[list[Path], argument("CSV, APIs.json or OpenAPI documents (JSON or YAML).", exists=True)],
    kind: Annotated[Text, option("Kind of services whose entries name none.")] = None,
    protocol: Annotated[Text, option("Protocol of services whose entries name none.")] = None,
    method: Annotated[Texts, option("Method; may be repeated. [default: all that fit]")] = None,
    attribute: Annotated[Texts, option("Attribute; may be repeated. [default: all]")] = None,
    language: Annotated[Texts, option("Language; may be repeated.")] = None,
    agency: Annotated[Text, option("Address of an agency to send the suite to.")] = None,
    key_file: Annotated[File, option("File with the agency's API key.")] = None,
    plan: Annotated[bool, option("Ask the agency for the plan only.", "--plan")] = False,
) -> None:
    """Make a suite of the services in a catalog, and print its request or send it to an agency."""
    from cli.agency import import_catalog as catalog

    suite = {"methods": method or [], "attributes": attribute or [], "languages": language or []}
    catalog.run(files, {"kind": kind, "protocol": protocol}, suite, agency=agency, key_file=key_file, plan=plan)


@app.command()
def questions(
    file: Annotated[Path, argument("Questions in the format of BBQ with answers: JSON lines, also .gz.")],
    answers: Annotated[str, option("Member of each record that has the answer.")] = "answer",
    seed: Annotated[int, option("Seed of the intervals.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Print bias scores of recorded answers to questions of which half cannot be answered (BBQ)."""
    from cli import questions as scores

    scores.run(file, answers, seed, as_json=as_json)


@app.command()
def version() -> None:
    """Print the version of the engine and of the methodology."""
    import assay
    from assay.rating.decision import METHODOLOGY_VERSION

    typer.echo(f"assay {assay.__version__}, methodology {METHODOLOGY_VERSION}")


def main() -> None:
    """Run a command; report any error in one line, with an exit code that stands for no letter."""
    if isinstance(sys.stdout, TextIOWrapper):  # a terminal without a report's characters shows "?" for them
        sys.stdout.reconfigure(errors="replace")
    try:
        code = app(standalone_mode=False)
    except TyperException as error:
        if message := error.format_message():  # empty without arguments, because the help was shown already
            typer.echo(f"assay: {message} (see --help)", err=True)
        code = Exit.USAGE
    except (typer.Abort, KeyboardInterrupt):
        typer.echo("interrupted", err=True)
        code = Exit.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - users get one line instead of a traceback
        from cli.exits import as_one_line

        typer.echo(f"assay: {as_one_line(error)}", err=True)
        code = Exit.of(error)
    sys.exit(code)


if __name__ == "__main__":
    main()
