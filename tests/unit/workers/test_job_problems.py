"""Problem objects of failed jobs."""

from __future__ import annotations

import pytest

from workers.calls.driver import TargetUnavailable
from workers.egress import CallFailed
from workers.engine.failure_handling import problem
from workers.targets.checks.examination import TargetUnfit

REFUSED = CallFailed("auth", 'h refused access (HTTP 401); it said: "no such key"', retriable=False)


@pytest.mark.parametrize(
    "error",
    [
        REFUSED,
        TargetUnfit("auth", str(REFUSED), "Look at the key", failure=REFUSED),
        TargetUnavailable(REFUSED),
    ],
    ids=["refused", "unfit", "unavailable"],
)
def test_the_problem_of_a_failed_job_has_the_services_message_in_a_separate_field(error):
    said = problem(error)
    assert said["service_said"] == "no such key"
    assert "no such key" in said["detail"]


def test_the_problem_of_a_failed_job_has_no_message_field_if_the_service_sent_no_message():
    assert "service_said" not in problem(CallFailed("timeout", "h did not answer in 30 s"))


MISREAD = CallFailed("wrong-shape", "the output expression does not fit what h answered")


@pytest.mark.parametrize("error", [MISREAD, TargetUnfit(MISREAD.code, str(MISREAD), "Mend it", failure=MISREAD)])
def test_a_job_whose_settings_misread_an_answer_does_not_say_that_the_target_refused(error):
    said = problem(error)
    assert (said["code"], said["title"], said["reason"]) == (
        "target_unfit",
        "The target cannot be rated",
        "wrong-shape",
    )
    assert "The output expression does not fit what h answered." in said["detail"]
