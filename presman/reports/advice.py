"""Advice as values: the request, goals and how they are met, choices with their waits, curves, scripts, notes."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec import Struct

from presman.analysis.goals import Goal
from presman.reports.advise_load import Choice
from presman.reports.advise_script import Scripts

ASSUMPTIONS = (
    "statements arrive at the observed times, whatever happens to earlier ones",
    "run times do not depend on what else runs: with more servers at once on the same CPUs they would be longer, "
    "and presman cannot say by how much",
    "with a lower degree limit a statement runs longer, so that servers times seconds stay the same; it has two sets "
    "of servers, twice the degree",
    "levels and shares divide CPU, too: the effect is shown if CPU was observed (a file of arrivals has none), and is "
    "based on what groups wanted under the present plan",
    "limits of containers stay as they were; they are not replayed",
    "a statement that timed out counts as one that never started; one that came before the observation began is "
    "replayed, but is not counted",
)

SERVICE_ASSUMPTIONS = (
    *ASSUMPTIONS[:2],
    "with a lower degree a statement of MEDIUM runs longer, so that servers times seconds stay the same; it has two "
    "sets of servers, twice the degree",
    "shares order the queue as those of other plans do; their effect on CPU is shown if CPU was observed, that on I/O "
    "is not",
    ASSUMPTIONS[-1],
)


class GroupWaits(Struct, frozen=True):
    """Waits of a group's statements before and after: median and 95th percentile, None if those timed out.

    `unstarted` are statements that timed out or still waited at the end. `longer`, in the order of the four waits, says
    which may really be longer because some statements still waited. `title` is the group's display name.
    """

    con_id: int
    group: str
    statements: int
    median_before: float | None
    median_after: float | None
    p95_before: float | None
    p95_after: float | None
    unstarted_before: int
    unstarted_after: int
    runs_longer: float
    longer: tuple[bool, ...] = (False, False, False, False)
    title: str = ""


class ReplayedChoice(Struct, frozen=True):
    """A choice: its changes in words, whether it meets all goals, the most servers at once, each group's waits.

    `meets` is None if the error of the replay is too large to decide.
    """

    changes: tuple[str, ...]
    meets: bool | None
    peak: int
    groups: tuple[GroupWaits, ...]


class WaitCurve(Struct, frozen=True):
    """The wait at a goal's percentile for each value of one directive; `now` is the value in force.

    `longer` says for each point whether the wait may really be longer, because statements still waited at the end.
    """

    goal: str
    seconds: float
    what: str
    unit: str
    now: int
    points: tuple[tuple[int, float | None], ...]
    longer: tuple[bool, ...]


class GoalFinding(Struct, frozen=True):
    """A goal: its limit and percentile, and the wait there as observed, as replayed, and under the advice.

    `within` is the part of the held-back statements that start in time under the advice. `advised` is the median of
    other days; `advised_low` and `advised_high`, and `low` and `high` for `within`, bound 9 of 10 of them. All are None
    without advice. `observed` or `now` is None if the statement at the percentile timed out. `longer` says whether the
    waits `observed` and `now` may really be longer, because statements still waited at the end.
    """

    goal: str
    limit: float
    percentile: str
    statements: int
    needed: int
    observed: float | None
    now: float | None
    advised: float | None = None
    advised_low: float | None = None
    advised_high: float | None = None
    held_back: int = 0
    within: float | None = None
    low: float | None = None
    high: float | None = None
    longer: tuple[bool, bool] = (False, False)


class CpuLack(Struct, frozen=True):
    """The CPU that a group wanted, and the part that it lacks under the present plan and under the first choice."""

    con_id: int
    group: str
    wanted: float
    before: float
    after: float


class Advice(Struct, frozen=True):
    """The advice. `verdict` is met, advised, unmet, unsure, too_short, or autonomous.

    `before` is the number of statements that came before the observation: they are replayed but not counted. `cpu` is
    () if the first choice changes neither levels nor shares, or no CPU was observed; `servers_maximum` is
    PARALLEL_MAX_SERVERS of all instances. `autonomous_target` is the target of an Autonomous Database, which follows
    its CPUs, None elsewhere. `scripts` are those of the choice `scripted`, counted from 1.
    """

    verdict: str
    message: str
    statements: int
    seconds: float
    seed: int
    replay_error: float | None
    replayed: int
    interrupted: bool
    goals: tuple[GoalFinding, ...]
    curves: tuple[WaitCurve, ...]
    now: ReplayedChoice
    choices: tuple[ReplayedChoice, ...]
    servers_needed: int | None
    scripts: Scripts | None
    notes: tuple[str, ...]
    cpu: tuple[CpuLack, ...] = ()
    assumptions: tuple[str, ...] = ASSUMPTIONS
    servers_maximum: int | None = None
    before: int = 0
    autonomous_target: int | None = None
    scripted: int = 1


class AdviceWanted(NamedTuple):
    """A request for advice: goals, groups that must not lose, kinds of changes (none: the usual), the seed.

    `quick` is the most choices that quick advice tries, with fewer orders and days and without curves; 0: full advice.
    `scripted` is the number of the choice whose scripts are wanted; that of the last one if there are fewer.
    """

    goals: Sequence[Goal]
    keep: Iterable[str]
    kinds: Sequence[str]
    seed: int = 1
    quick: int = 0
    scripted: int = 1


class AdviceFound(NamedTuple):
    """Advice, and the changes of each of its choices."""

    advice: Advice
    choices: tuple[Choice, ...]
