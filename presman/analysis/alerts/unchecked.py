"""Alerts that cannot be checked: an earlier poll found them, and the views that would show their end do not answer."""

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta

from presman.analysis.alerts.rule_book import RULE_BOOK, dated, silent_views, unavailable_for
from presman.analysis.readings.reading import Alert, EarlierAdvice, Reading, UncheckedAlert
from presman.analysis.readings.statement_readings import group_title
from presman.analysis.view_availability import TWO_POLLS
from presman.base.formats import listed

_RANK = {"bad": 2, "warn": 1}


def unchecked(
    before: Reading,
    now: Reading,
    found: tuple[Sequence[Alert], Sequence[Alert]],
    kept: Iterable[UncheckedAlert],
    advise: Callable[[Alert], EarlierAdvice | None] = lambda _alert: None,
) -> tuple[UncheckedAlert, ...]:
    """Return the warnings and critical alerts of the reading `before` that the one of `now` cannot check.

    `found` are the alerts of each, `kept` those that the earlier one could not check either. `advise` returns the step
    of the earlier one. A milder alert about the same thing is no end: both are returned to the user.
    """
    worst: dict[tuple[str, str], UncheckedAlert] = {_mark(each.alert): each for each in kept}
    for alert in found[0]:
        old = worst.get(_mark(alert))
        if alert.state in _RANK and (old is None or _rank(alert) >= _rank(old.alert)):
            worst[_mark(alert)] = _as_answered(alert, before)
    # An alert that is found again, as bad or worse, needs no memory of the earlier one.
    ranks = {_mark(each): _rank(each) for each in found[1]}
    still: list[UncheckedAlert] = []
    for mark, each in worst.items():
        views = _silent(each, before, now) if ranks.get(mark, 0) < _rank(each.alert) else ()
        if views and not _is_over(each.alert, before, now):
            advice = each.advice if each.views else advise(each.alert)
            why = each.why if views == each.views and not silent_views(each.alert.key, now) else ""
            still.append(UncheckedAlert(each.alert, each.at, views, advice, why or _why(each.alert.key, views, now)))
    return tuple(still)


def _why(key: str, views: Sequence[str], now: Reading) -> str:
    """Return the sentence that these views did not answer, or the values that their answers lack."""
    whys = {each.view: each.why for each in unavailable_for(key, now)}
    lacking = {view: why for view in views if (why := whys.get(view, "")).startswith(f"{view} ")}
    silent = [view for view in views if view not in lacking]
    return listed([*([f"{', '.join(silent)} did not answer"] if silent else []), *lacking.values()])


def _as_answered(alert: Alert, before: Reading) -> UncheckedAlert:
    """Return an alert as of the oldest answer from which it was found, without its age.

    The sentence about a queue has figures of several views, each with an age: beside older ones it would be wrong.
    """
    found, age = alert.bare(), dated(alert, before).age
    if before.late and alert.key == "queue_waits":
        found = found._replace(words=found.brief)
    return UncheckedAlert(found, before.at - timedelta(seconds=age), ())


def _mark(alert: Alert) -> tuple[str, str]:
    return alert.key, alert.subject


def _rank(alert: Alert) -> int:
    return _RANK.get(alert.state, 0)


def _silent(each: UncheckedAlert, before: Reading, now: Reading) -> tuple[str, ...]:
    """Return the views that an alert needs and that fell silent since it was seen: it may have ended unseen.

    Those that were silent when it was found are not among them, unless their earlier rows stood in for an answer.
    """
    never = {*silent_views(each.alert.key, before)} - {view.view for view in now.late} - {*each.views}
    silent = tuple(view for view in silent_views(each.alert.key, now) if view not in never)
    rests_on = RULE_BOOK[each.alert.key].rests_on
    has_one_poll = now.why_unknown(rests_on) == TWO_POLLS
    # The CPU of a container is counted between two polls, too, but `Reading.basis` does not mention it.
    has_one_poll = has_one_poll or (rests_on == "minimums" and bool(silent_views(each.alert.key, before)))
    return each.views if not silent and has_one_poll else silent


def _is_over(alert: Alert, before: Reading, now: Reading) -> bool:
    """Whether another view shows the end: V$SESSION does not list its head, or V$RSRC_CONSUMER_GROUP counts none.

    The statements of a group have one timeout, so the head is the first to reach it.
    """
    if RULE_BOOK[alert.key].rests_on not in {"queue", "timeouts"}:
        return False
    counts = (row.px_queued for row in now.cluster_groups() if row.title == alert.subject)
    first = {each.statement.executing() for each in before.heads if group_title(each) == alert.subject}
    has_left = now.lists_queue() and first.isdisjoint(each.executing() for each in now.queue)
    return has_left or next(counts, None) == 0
