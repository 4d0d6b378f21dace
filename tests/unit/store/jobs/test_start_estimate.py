"""The estimated start of a queued job follows from the running jobs, the slots and the tenant's share.

Row 92 of docs/reliability.md: at ffe18d3c 40 slow jobs of one tenant took every slot for a day.
"""

from store.jobs.fair_order import QueueState, RunningJob, Share, starts_in_s


def running(*jobs: tuple[str, float, float], slots: int) -> QueueState:
    """Running jobs as tenant, elapsed and estimated total seconds; a total of 0 means that there is no answer yet."""
    rows = (
        RunningJob(tenant, 0, elapsed_s, 100 if whole_s else 0, round(100 * whole_s / elapsed_s) if whole_s else 240)
        for tenant, elapsed_s, whole_s in jobs
    )
    return QueueState(tuple(rows), slots, {})


def test_a_job_is_estimated_to_start_at_once_if_a_slot_is_free():
    assert starts_in_s("b", 0, 1, running(("a", 10, 60), slots=2), Share(slots=2)) == 0


def test_the_estimated_start_is_the_end_of_the_running_jobs_that_end_first():
    state = running(("a", 10, 60), ("a", 10, 30), slots=2)
    starts = [starts_in_s("b", 0, 1 + before, state, Share(slots=2)) for before in range(4)]
    assert starts == [20, 50, 20 + 45, 50 + 45], "the remaining times, then those and the mean duration of 45 s"


def test_the_estimated_start_of_a_tenant_at_its_limit_is_when_one_of_its_own_jobs_ends():
    state = running(("greedy", 10, 100), ("greedy", 10, 210), ("greedy", 10, 310), slots=4)
    share = Share(max_jobs=None, slots=4)
    assert starts_in_s("greedy", 0, 1, state, share) == 90
    assert starts_in_s("other", 0, 1, state, share) == 0


def test_no_start_time_is_estimated_until_a_running_job_has_received_an_answer():
    assert starts_in_s("b", 0, 1, running(("a", 10, 0), slots=1), Share(slots=1)) is None


def test_jobs_ahead_in_the_queue_delay_the_estimated_start():
    state = running(("a", 10, 40), slots=2)
    assert starts_in_s("b", 0, 2, state, Share(slots=2)) == 30
    assert starts_in_s("b", 0, 3, state, Share(slots=2)) == 40
