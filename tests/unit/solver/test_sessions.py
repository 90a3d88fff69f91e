"""Sessions: a run inside a limit, one that is split, and one that cannot be done there."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.solver.sessions import RunNeeds, SessionRules, sessions_of

NONE = SessionRules(limit_hours=None, weekly_quota_hours=None)
KAGGLE = SessionRules(limit_hours=9, weekly_quota_hours=30)
RUN = RunNeeds(
    hours=8.0, setup_hours=0.25, restart_hours=0.25, resumes=True, is_service=False, deadline_hours=None, runs_each_month=1 / 36
)


def test_without_limits_nothing_changes():
    found = sessions_of(NONE, replace(RUN, hours=1000.0))
    assert (found.count, found.extra_hours, found.wall_hours) == (1, 0.0, 1000.25)


def test_a_run_inside_one_session_needs_no_checkpoint():
    found = sessions_of(KAGGLE, replace(RUN, resumes=False))  # 8.25 h of 9 h
    assert (found.count, found.extra_hours, found.wall_hours) == (1, 0.0, 8.25)


def test_a_longer_run_is_split_and_each_restart_is_counted():
    # 25 h: the first session holds 9 - 0.25 = 8.75, each later one 9 - 0.5 = 8.5: 16.25 / 8.5 -> 2 more, 3 in all
    found = sessions_of(KAGGLE, replace(RUN, hours=25.0))
    assert found.count == 3
    assert found.extra_hours == 1.0  # two set-ups and two restarts of a quarter of an hour
    assert found.wall_hours == 26.25  # inside one week's 30 h


def test_a_quota_makes_it_wait_for_the_next_week():
    # 50 h: 41.25 / 8.5 -> 5 more sessions, 2.5 h of starts: 52.75 h, of which 22.75 stand in the second week
    found = sessions_of(KAGGLE, replace(RUN, hours=50.0))
    assert found.count == 6
    assert found.wall_hours == 168 + 22.75


@pytest.mark.parametrize(
    "run",
    [
        replace(RUN, hours=10.0, resumes=False),  # longer than a session, and starts from zero
        replace(RUN, is_service=True),
        replace(RUN, hours=50.0, deadline_hours=100.0),  # in time but for the weekly quota
        replace(RUN, runs_each_month=20.0),  # 20 x 8.25 h = 165 h, of 30 x 730 / 168 = 130.4 h a month
        replace(RUN, hours=10.0, setup_hours=9.0),  # a session is over before it begins
    ],
)
def test_what_the_limits_do_not_hold_is_none(run):
    assert sessions_of(KAGGLE, run) is None


@given(hours=st.floats(0.01, 3000), limit=st.floats(1, 24), quota=st.none() | st.floats(5, 168))
def test_sessions_hold_the_run_and_its_starts(hours, limit, quota):
    found = sessions_of(SessionRules(limit_hours=limit, weekly_quota_hours=quota), replace(RUN, hours=hours, runs_each_month=0.0))
    assert found is not None
    spent = RUN.setup_hours + hours + found.extra_hours
    assert spent <= found.count * limit * (1 + 1e-6)
    assert found.count == 1 or spent > (found.count - 1) * limit - 0.5 - 1e-6
    assert found.wall_hours >= spent - 1e-6
