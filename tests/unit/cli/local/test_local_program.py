"""Functions and programs on this machine can be rated like services, but not over the REST API."""

import asyncio
import gc
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.errors import SpecificationError, UnknownName
from assay.model import Choose, Embed, Kind, Regress, Score, Translate, Write
from cli.local.program import LocalProgram, ProgramSettings
from demo.translators.behaviours import BEHAVIOURS
from store.core.settings import Settings
from tests.support import local_models
from workers.egress import CallFailed, Egress
from workers.targets.adapter import Limits, Target
from workers.targets.registry import TargetChecker, protocols

KINDS = {Translate: Kind.TRANSLATOR, Regress: Kind.REGRESSOR, Embed: Kind.EMBEDDER}
PROGRAM = shlex.join([sys.executable, local_models.__file__])


def ask(asks, *, python=None, command="", timeout_s=20.0):
    """Ask questions one after the other; return replies, or the failure of a call."""
    settings = ProgramSettings(python=python and f"tests.support.local_models:{python}", command=command)
    kind = KINDS.get(type(asks[0]), Kind.LANGUAGE_MODEL)
    target = Target("t", kind, LocalProgram.protocol, "", limits=Limits(timeout_s=timeout_s))

    async def go():
        made, adapter = [], LocalProgram(target, settings, Egress())
        for one in asks:
            try:
                (reply,) = await adapter.answer([one])
                made.append(reply.value if reply.failure is None else reply.failure)
            except CallFailed as failed:
                made.append(failed)
        return made

    return asyncio.run(go())


def test_a_function_translates_and_its_printed_output_is_not_taken_as_an_answer():
    asked = Translate("He is a doctor.", "en", "es")
    said = BEHAVIOURS["faithful"].translate(asked.text, "en", "es")
    assert ask([asked] * 2, python="faithful") == [said] * 2


def test_a_function_receives_texts_or_records():
    assert ask([Regress("four"), Regress((("age", 31), ("sex", "f")))], python="length") == [4, 31]


def test_a_function_may_return_a_numpy_array():
    assert ask([Embed("four")], python="vector") == [[4.0, 1.0]]


def test_an_error_in_the_function_fails_only_the_question_that_caused_it():
    failed, answered = ask([Regress("bad"), Regress("good")], python="fails")
    assert (failed.code, answered) == ("wrong-shape", 1.0)
    assert "ValueError: no such text" in failed.message


@pytest.mark.slow
def test_a_function_that_takes_too_long_is_stopped_and_restarted():
    start = time.monotonic()
    first, slow, last = ask([Regress(text) for text in ("one", "slow", "two")], python="sleeps", timeout_s=3)
    assert (first, last) == (1.0, 1.0)
    assert slow.code == "timeout"
    assert time.monotonic() - start < 20


@pytest.mark.parametrize("python", ["no_such_function", "main.x"])
def test_a_missing_function_fails_the_call_without_a_retry(python):
    (failed,) = ask([Regress("one")], python=python)
    assert (failed.code, failed.retriable) == ("truncated", False)


def test_a_missing_function_is_named_without_a_traceback(capfd):
    ask([Regress("one")], python="no_such_function")
    said = capfd.readouterr().err
    assert "local_models:no_such_function is not found from" in said
    assert "Traceback" not in said


def test_a_program_answers_json_lines():
    asked = [Write("tell me", 1), Choose("Which?", ("yes", "no"))]
    assert ask(asked[:1], command=PROGRAM) == ["TELL ME"]


def test_a_program_that_ends_is_restarted():
    first, ended, last = ask([Write(text, 1) for text in ("one", "end", "two")], command=PROGRAM)
    assert (first, last) == ("ONE", "TWO")
    assert (ended.code, ended.retriable) == ("truncated", True)


def test_an_answer_that_is_not_json_fails_the_call():
    garbled, answered = ask([Write("garbled", 1), Write("one", 1)], command=PROGRAM)
    assert (garbled.code, answered) == ("bad-json", "ONE")


def test_a_missing_program_is_named_in_the_error():
    (failed,) = ask([Write("one", 1)], command="/no/such/program --flag")
    assert failed.code == "unsupported"
    assert "/no/such/program" in str(failed)


def test_a_request_for_a_log_probability_from_a_local_language_model_fails_as_unsupported():
    (failed,) = ask([Score("one")], command=PROGRAM)
    assert failed.code == "unsupported"


def test_no_child_process_is_left_after_the_last_question():
    ask([Write("one", 1)], command=PROGRAM)
    gc.collect()
    children = subprocess.run(
        ["ps", "-o", "args=", "--ppid", str(os.getpid())], capture_output=True, text=True, check=False
    )
    assert Path(local_models.__file__).name not in children.stdout


@pytest.mark.parametrize(
    "given", [{}, {"python": "a:b", "command": "c"}, {"python": "no-colon"}, {"command": "unclosed '"}]
)
def test_options_that_do_not_name_exactly_one_function_or_program_are_refused(given):
    with pytest.raises(SpecificationError):
        ProgramSettings(**given)


def test_the_rest_api_refuses_local_programs_as_targets():
    assert LocalProgram.protocol not in {one.name for one in protocols()}
    target = {"name": "t", "kind": "regressor", "protocol": LocalProgram.protocol, "settings": {"command": "id"}}
    with pytest.raises(UnknownName) as caught:
        TargetChecker(Settings()).check(target)
    assert caught.value.field == "protocol"
