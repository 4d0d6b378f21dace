"""Adapter for a model on this machine: a program that answers questions as JSON lines.

Only the command line registers it (`register_for_process`). A REST request cannot use it, because it runs commands.
"""

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
import weakref
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from annotated_types import MaxLen, MinLen

from assay.document import JsonObject
from assay.errors import SpecificationError
from assay.model import Ask, Choose, Failure, Kind, Reply, Translate, Write
from cli.local import function as function_runner
from store.core.child_processes import ending_with_this_process
from workers.egress import CallFailed, Egress
from workers.targets.adapter import QUESTIONS, Adapter, Prediction, Target, Worded, questions_for
from workers.targets.protocols.http import language_model
from workers.targets.protocols.http.predictor import PREDICTED, accept_prediction, content_of, refusal_of_question
from workers.targets.protocols.http.translator import accept_text
from workers.targets.registry import register_for_process
from workers.targets.settings import PredictorSettings

PLACE = "the program"
LONGEST_LINE = 4 * 1024 * 1024
"""Maximum length of an answer in characters."""


@dataclass(frozen=True, kw_only=True)
class ProgramSettings(PredictorSettings, language_model.LanguageModelSettings):
    """Settings of a program."""

    auth: None = None
    """Always null, because no key is sent."""
    command: Annotated[str, MaxLen(4000)] = ""
    """Command line of the program; no shell reads it."""
    python: Annotated[str, MinLen(3), MaxLen(400)] | None = None
    """Function to call instead, as package.module:function."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.python is not None and not all(self.python.partition(":")):  # a module, a colon and a function
            raise SpecificationError("--python takes package.module:function", "python")
        has_python, has_command = self.python is not None, bool(self.command.strip())
        if has_python == has_command:
            raise SpecificationError("give either --python or --command", "command")
        if self.python is None:
            self.arguments  # noqa: B018 - raises for a command that cannot be read

    @property
    def arguments(self) -> list[str]:
        """The program and its arguments."""
        if self.python is not None:
            return [sys.executable, str(Path(function_runner.__file__)), self.python]
        try:
            return shlex.split(self.command)
        except ValueError as error:
            raise SpecificationError(f"--command cannot be read: {error}", "command") from None


class Program:
    """Child process that is started at the first question, and started again after it ended or was stopped."""

    def __init__(self, arguments: list[str]) -> None:
        self._arguments, self._has_answered = arguments, False
        self._process: subprocess.Popen[str] | None = None
        self.turn = asyncio.Lock()  # held by the question that the program answers

    def ask(self, question: JsonObject) -> str:
        """Write a question, and return the line with its answer; raise `CallFailed` if there is none."""
        process = self._process = self._process or self._start_process()
        line = ""
        with suppress(OSError, ValueError):  # the program ended, or was stopped meanwhile
            assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018 - both are pipes
            process.stdin.write(json.dumps(question) + "\n")
            process.stdin.flush()
            line = process.stdout.readline(LONGEST_LINE)
        if line.endswith("\n"):
            self._has_answered = True
            return line
        if self._process is process:  # it was not stopped meanwhile
            self.stop()
        if line:
            raise CallFailed("too-large", f"{PLACE} answered with a line of more than {LONGEST_LINE:,} characters")
        # a program that has never answered, such as one that cannot import its model, will not answer the next time
        raise CallFailed(
            "truncated", f"{PLACE} ended without an answer; see its messages", retriable=self._has_answered
        )

    def stop(self) -> None:
        """End the process, if there is one; the next question starts a new one."""
        process, self._process = self._process, None
        if process is not None:
            _end_process(process)

    def _start_process(self) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's own command
                self._arguments,
                stdin=pipe,
                stdout=pipe,
                text=True,
                encoding="utf-8",
                start_new_session=True,
                preexec_fn=ending_with_this_process(),  # noqa: PLW1509 - no lock is taken there
            )
        except OSError as error:
            cause = f"{PLACE} {self._arguments[0]!r} cannot be started ({error.strerror})"
            raise CallFailed("unsupported", cause) from None
        weakref.finalize(self, _end_process, process)
        return process


def _end_process(process: subprocess.Popen[str]) -> None:
    """End a process and those that it started, and close its pipes."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(BrokenPipeError), process:  # closes the pipes and waits
        pass


class LocalProgram(Adapter):
    """Adapter for a program, with one question at a time."""

    protocol: ClassVar[str] = "local-program"
    summary: ClassVar[str] = "A program on this machine that answers JSON lines; for the command line only"
    kinds: ClassVar[frozenset[Kind]] = PREDICTED | {Kind.TRANSLATOR, Kind.LANGUAGE_MODEL}
    settings_type: ClassVar[type] = ProgramSettings
    needs_url: ClassVar[bool] = False

    def __init__(self, target: Target, settings: ProgramSettings, egress: Egress) -> None:  # noqa: ARG002 - inherited
        self.target, self.settings, self.batch_limit = target, settings, 1
        self._program = Program(settings.arguments)

    async def answer(self, asks: Sequence[Ask], *, idempotency_key: str | None = None) -> Sequence[Reply]:  # noqa: ARG002
        """Ask the program the only question in `asks`, unless programs answer no such questions (`Adapter.answer`)."""
        (ask,) = questions_for(QUESTIONS[self.target.kind], asks)  # `batch_limit` is 1
        if isinstance(ask, Prediction):
            refusal = refusal_of_question(ask, texts=True, records=True)
        else:
            refusal = None if isinstance(ask, Translate) else language_model.refusal_of_kind(ask, (Choose, Write))
        if refusal is not None:
            return [Reply(failure=refusal)]
        limit_s = self.target.limits.timeout_s
        async with self._program.turn:  # it answers a question at a time
            try:
                async with asyncio.timeout(limit_s):
                    line = await asyncio.to_thread(self._program.ask, self._question_json(ask))
            except TimeoutError:
                self._program.stop()
                raise CallFailed("timeout", f"{PLACE} did not answer within {limit_s:g} s") from None
        return [self._read_reply(line, ask)]

    def _question_json(self, ask: Ask) -> JsonObject:
        """Return a question as the program reads it: a text (with languages, for a translation) or a row."""
        if isinstance(ask, Translate):
            return {"text": ask.text, "source": ask.source, "target": ask.target}
        if isinstance(ask, Worded):  # asked by a prompt
            return {"text": language_model.prompt_of(ask, self.settings.choice_instruction)}
        assert isinstance(ask, Prediction)  # noqa: S101 - other questions were refused before
        content = content_of(ask)
        return {"text": content} if isinstance(content, str) else {"row": dict(content)}

    def _read_reply(self, line: str, ask: Ask) -> Reply:
        """Read the program's line as the reply to a question; an output of the wrong type is a failure."""
        try:
            document = json.loads(line)
        except (ValueError, RecursionError):
            raise CallFailed("bad-json", f"{PLACE} returned a line that is not JSON") from None
        if not isinstance(document, dict) or "output" not in document:
            cause = str(document.get("error"))[:300] if isinstance(document, dict) else "no object"
            return Reply(failure=Failure("wrong-shape", f"{PLACE} gave no output: {cause}"))
        output = document["output"]
        if isinstance(ask, Prediction):
            return accept_prediction(output, ask, self.settings.labels, PLACE)
        if isinstance(ask, Worded):
            return language_model.accept_worded(language_model.ModelOutput(output), ask, PLACE)
        if not isinstance(output, str) or not isinstance(ask, Translate):
            cause = f"{PLACE} gave {type(output).__name__}; expected a translation"
            return Reply(failure=Failure("wrong-shape", cause))
        return accept_text(output, ask, PLACE)


def local_target(python: str | None, command: str | None) -> JsonObject:
    """Return a target's fields for a function or a command, and register its protocol; ``{}`` if neither is given."""
    if settings := {name: value for name, value in (("python", python), ("command", command)) if value is not None}:
        register_for_process(LocalProgram)
    return {"protocol": LocalProgram.protocol, "base_url": "", "settings": settings} if settings else {}
