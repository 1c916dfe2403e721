"""Alerts that cannot be checked: those that an earlier poll found, while views that would show their end are silent."""

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta

from presman.analysis.alerts.rule_book import RULE_BOOK, dated, silent_views, views_of
from presman.analysis.readings.reading import Alert, EarlierAdvice, Reading, UncheckedAlert
from presman.analysis.view_availability import TWO_POLLS
from presman.base.formats import AS_OF, undated

_RANK = {"bad": 2, "warn": 1}


def unchecked(
    before: Reading,
    now: Reading,
    found: tuple[Sequence[Alert], Sequence[Alert]],
    kept: Iterable[UncheckedAlert],
    advise: Callable[[Alert], EarlierAdvice | None] = lambda _alert: None,
) -> tuple[UncheckedAlert, ...]:
    """Return the warnings and critical alerts of the reading `before` that the one of `now` cannot check.

    `found` are the alerts of each, `kept` those that the earlier one could not check either. `advise` returns what the
    earlier one said was to be done. A milder alert about the same thing is no end: both are returned to the user.
    """
    worst: dict[tuple[str, str], UncheckedAlert] = {_mark(each.alert): each for each in kept}
    for alert in found[0]:
        old = worst.get(_mark(alert))
        if alert.state in _RANK and (old is None or _rank(alert) >= _rank(old.alert)):
            worst[_mark(alert)] = _as_answered(alert, before)
    ranks = {_mark(each): _rank(each) for each in found[1]}
    still: list[UncheckedAlert] = []
    for mark, each in worst.items():
        views = _silent(each, before, now) if ranks.get(mark, 0) < _rank(each.alert) else ()
        if views and not _is_over(each.alert, now):
            still.append(each._replace(views=views, advice=each.advice if each.views else advise(each.alert)))
    return tuple(still)


def as_unchecked(each: UncheckedAlert, reading: Reading) -> Alert:
    """Return an alert that cannot be checked, with its age in every sentence."""
    alert, age = each.alert, f" ({each.as_of(reading.at)})"
    return alert._replace(
        text=alert.text.removesuffix(".") + each.why(reading.at),
        short=alert.short + age,
        between=tuple(text + age for text in alert.between),
    )


def is_unchecked(alert: Alert) -> bool:
    """Whether an alert has its age in it, because it cannot be checked."""
    return f" ({AS_OF}" in alert.text


def _as_answered(alert: Alert, before: Reading) -> UncheckedAlert:
    """Return an alert as of the oldest answer from which it was found, without ages in its words."""
    at = before.at
    if AS_OF in dated(alert, before).short:
        ages = (before.age_of(view) or 0.0 for view in views_of(RULE_BOOK[alert.key].rests_on))
        at -= timedelta(seconds=max(ages, default=0.0))
    found = alert._replace(
        text=undated(alert.text), short=undated(alert.short), between=tuple(map(undated, alert.between))
    )
    return UncheckedAlert(found, at, ())


def _mark(alert: Alert) -> tuple[str, str]:
    return alert.key, alert.subject


def _rank(alert: Alert) -> int:
    return _RANK.get(alert.state, 0)


def _silent(each: UncheckedAlert, before: Reading, now: Reading) -> tuple[str, ...]:
    """Return the views that an alert needs and that fell silent since it was seen: it may have ended unseen.

    Those that were silent when it was found are not among them, unless their earlier rows stood in for an answer.
    """
    never = {view.view for view in before.unseen} - {view.view for view in now.late} - {*each.views}
    silent = tuple(view for view in silent_views(each.alert.key, now) if view not in never)
    if not silent and each.views and now.why_unknown(RULE_BOOK[each.alert.key].rests_on) == TWO_POLLS:
        return each.views
    return silent


def _is_over(alert: Alert, reading: Reading) -> bool:
    """Whether another view shows the end: V$RSRC_CONSUMER_GROUP counts the queue that V$SESSION lists."""
    counts = (row.px_queued for row in reading.cluster_groups() if row.title == alert.subject)
    return RULE_BOOK[alert.key].rests_on in {"queue", "timeouts"} and next(counts, None) == 0
