"""Advice as text and as a page: bars, choices, groups that lose, certainty, the scripts. Times are seconds."""

from collections.abc import Iterable
from datetime import datetime
from math import ceil
from textwrap import wrap

from presman.base.formats import count, counted, duration, spelled
from presman.base.markup import BAD, WIDTH, Markup, drawing, element, label
from presman.figures.drawing.lines import bar_runs, shared_scale
from presman.figures.figure import Bar
from presman.reports.advice import Advice, GoalFinding, GroupWaits, ReplayedChoice, WaitCurve
from presman.reports.html_page import bullets, page, section, word_table
from presman.reports.whatif_replay import is_longer
from presman.reports.whatif_text import off_by, there_before, wait_words

_WIDE = 100
_BAR = 36


def as_text(advice: Advice) -> str:
    """Return the advice as text. Ends in a newline."""
    outcome = [each for line in closing(advice) for each in wrap(line, _WIDE)]
    basis = [*wrap(_first(advice), _WIDE), *_goals(advice)]
    blocks = [outcome, basis] if advice.verdict == "too_short" else [basis, *([] if advice.choices else [outcome])]
    blocks += [list(_curve_lines(curve)) for curve in advice.curves]
    blocks += [[*_choices(advice), *outcome]] if advice.choices else []
    lines = [line for block in blocks if block for line in ("", *block)][1:]
    if advice.scripts is not None:
        first = f"{_script_of(advice)}, which presman never runs{_other_scripts(advice)}:"
        lines += ["", first, "", advice.scripts.change]
        lines += ["The script that undoes it:", "", advice.scripts.undo.rstrip()]
    for name, texts in (("notes", advice.notes), ("assumptions", advice.assumptions)):
        if texts:
            lines += ["", f"{name}:"]
            lines += [each for text in texts for each in wrap(f"  - {text}", _WIDE, subsequent_indent="    ")]
    return "\n".join(lines) + "\n"


def _script_of(advice: Advice) -> str:
    return f"{'The first choice' if advice.scripted == 1 else f'Choice {advice.scripted}'} as a script"


def _other_scripts(advice: Advice) -> str:
    """Return how to get the script of another choice, in brackets; "" if there is none."""
    other = 1 if advice.scripted > 1 else 2
    return f" (--script {other} prints that of choice {other})" if len(advice.choices) > 1 else ""


def _first(advice: Advice) -> str:
    return (
        f"{count(advice.statements)} parallel statements in {spelled(advice.seconds)}{there_before(advice.before)}; "
        f"replayed under the settings at its end, {off_by(advice.replay_error)}; seed {advice.seed}"
    )


def _goals(advice: Advice) -> Iterable[str]:
    for each in advice.goals:
        was, replayed = (wait_words(*pair) for pair in zip((each.observed, each.now), each.longer, strict=True))
        now = f"{each.percentile} {'was ' * (each.observed is not None)}{was}, replayed {replayed}"
        if not each.statements:  # then 0 s is no wait that anything had
            now = f"{each.percentile} is not known"
        yield f"goal: {each.goal}; {now}, of {counted(each.statements, 'statement')}"


def _curve_lines(curve: WaitCurve) -> Iterable[str]:
    """Yield a curve as bars with a mark at the goal, or as a sentence if it is the same everywhere."""
    if sentence := _level(curve):
        yield sentence
        return
    yield f"{curve.goal} against {curve.what} (┊ goal, {duration(curve.seconds)})"
    bars = [None if wait is None else Bar(0, wait, limit=curve.seconds) for _, wait in curve.points]
    scale = shared_scale(bars)
    for (value, _), wait, bar in zip(curve.points, _waits(curve), bars, strict=True):
        cells = "".join(text for text, _ in bar_runs(bar, _BAR, scale)) if bar is not None else "".ljust(_BAR)
        mark = "now" if value == curve.now else ""
        yield f"{value:>7} {curve.unit:<7} {mark:<3} {cells} {wait:>9}".rstrip()


def _waits(curve: WaitCurve) -> list[str]:
    """Return the wait of each point in words."""
    return [wait_words(wait, longer) for (_, wait), longer in zip(curve.points, curve.longer, strict=True)]


def _level(curve: WaitCurve) -> str:
    """Return the words that a wait does not depend on the value, "" if it does."""
    waits = set(_waits(curve))
    if len(waits) > 1 or len(curve.points) < 2:
        return ""
    (low, _), (high, _) = curve.points[0], curve.points[-1]
    return f"{curve.goal} against {curve.what}: {waits.pop()} everywhere from {low} to {high} {curve.unit}"


def _choices(advice: Advice) -> Iterable[str]:
    yield "choices, none better than another in every respect; waits of all statements in the replay, before -> after"
    yield f"{'':3} {'group':<24} {'statements':>10} {'median':>20} {'p95':>20} {'not started':>11}"
    for number, choice in enumerate(advice.choices, 1):
        changes = "; ".join(choice.changes) or "as it is"
        yield f"{number:>2}. {changes} ({_judged(choice)}; peak {counted(choice.peak, 'server')})"
        for name, statements, middle, most, unstarted, longer in map(_cells, choice.groups):
            line = f"{'':3} {name:<24} {statements:>10} {middle:>20} {most:>20} {unstarted:>11}  {longer}"
            yield line.rstrip()
    yield "(not started: timed out, or still queued at the end; a wait with ≥ may be longer, by how much is not known)"
    yield ""


def _judged(choice: ReplayedChoice) -> str:
    if choice.meets is None:
        return "whether it would have met the goals is not known"
    return f"would have {'met' if choice.meets else 'missed'} the goals"


def _cells(each: GroupWaits) -> tuple[str, ...]:
    waits = (each.median_before, each.median_after, each.p95_before, each.p95_after)
    words = [wait_words(wait, longer=longer) for wait, longer in zip(waits, each.longer, strict=True)]
    return (
        each.title or each.group,
        count(each.statements),
        " -> ".join(words[:2]),
        " -> ".join(words[2:]),
        f"{each.unstarted_before} -> {each.unstarted_after}" if each.unstarted_before + each.unstarted_after else "",
        f"run {duration(each.runs_longer)} longer" if each.runs_longer >= 1 else "",
    )


def closing(advice: Advice) -> Iterable[str]:
    """Yield the conclusions, and how certain they are."""
    if advice.message:
        yield advice.message[0].upper() + advice.message[1:] + "."
    if (target := advice.autonomous_target) is not None:
        yield from _more_cpus(advice, target)
    elif (needed := advice.servers_needed) is not None:
        most = advice.servers_maximum
        more = f", for which PARALLEL_MAX_SERVERS ({most}) must be raised as well" if most and needed > most else ""
        yield (
            f"It would take a target of {counted(needed, 'server')}{more}, if the CPUs are enough for them, "
            "and no limit on the groups of the goals."
        )
    elif advice.verdict == "unmet" and not advice.interrupted and not _why_unreliable(advice):
        yield "No target alone would do."
    if advice.choices and (why := _why_unreliable(advice)):
        yield f"{why}: the waits under other directives are only rough."
    if advice.choices and (losers := [lost for each in advice.choices[0].groups if (lost := _lost(each))]):
        yield f"What the first choice costs: {'; '.join(losers)}."
    if advice.cpu:
        moved = [each for each in advice.cpu if abs(each.after - each.before) > max(1, 0.01 * each.wanted)]
        lacks = (f"{each.group} {duration(each.before)} -> {duration(each.after)}" for each in moved)
        yield f"CPU that groups lack under the first choice: {'; '.join(lacks) or 'as it is'}."
    if advice.interrupted:
        yield f"Interrupted after {counted(advice.replayed, 'choice')}: these are the best of them."
    for each in advice.goals:
        if advice.choices and advice.choices[0].changes:
            yield from _certainty(each, advice)


def _more_cpus(advice: Advice, target: int) -> Iterable[str]:
    """Yield how many more CPUs of an Autonomous Database would do: its target follows them."""
    if (needed := advice.servers_needed) is not None:
        factor = ceil(10 * needed / target) / 10
        yield (
            f"It would take about {factor:g} times as many ECPUs (or OCPUs): the target follows them, and "
            f"{counted(needed, 'server')} in place of {target} would do."
        )
    elif advice.verdict == "unmet" and not advice.interrupted:
        yield "Whether more ECPUs (or OCPUs) would do is not known."


def _why_unreliable(advice: Advice) -> str:
    """Return why a replay is unreliable, "" if it is reliable."""
    if advice.replay_error is None:
        return off_by(None).capitalize()
    beyond = any(advice.replay_error > each.limit for each in advice.goals)
    return "A replayed wait is off by more than a goal allows" if beyond else ""


def _lost(each: GroupWaits) -> str:
    """Return what a group loses, "" if it loses nothing."""
    name, _, middle, most, unstarted, longer = _cells(each)
    pairs = ((each.median_before, each.median_after), (each.p95_before, each.p95_after))
    later = any(before is not None and (after is None or is_longer(before, after)) for before, after in pairs)
    fewer = each.unstarted_after > each.unstarted_before
    more = [f"{unstarted} do not start"] * fewer + [longer] * bool(longer)
    return ", ".join([f"{name} median {middle}, p95 {most}", *more]) if later or more else ""


_NO_RATE = "how long that takes is not known"


def still_takes(advice: Advice) -> str:
    """Return in a sentence how much longer to observe until the goals have enough statements."""
    few = max(advice.goals, key=lambda goal: goal.needed - goal.statements)
    missing, rate = few.needed - few.statements, few.statements / max(1.0, advice.seconds)
    when = f"at this rate that takes another {spelled(60 * ceil(missing / (60 * rate)))}" if rate else _NO_RATE
    came = f"{counted(few.statements, 'statement') if few.statements else 'none'} came in {spelled(advice.seconds)}"
    return f"Too early for advice on {few.goal}: it needs {counted(few.needed, 'statement')}, and {came}; {when}."


def _certainty(each: GoalFinding, advice: Advice) -> Iterable[str]:
    if each.within is None:
        yield f"{each.goal}: no statements were held back to check the first choice."
        return
    held = f"the {count(each.held_back)} statements held back from the search"
    met = f"{each.goal}: under the first choice {100 * each.within:.0f} % of {held} start in time"
    if each.low is None or each.high is None:
        yield f"{met}; how sure that is was not calculated."
        return
    usual, low, high = map(wait_words, (each.advised, each.advised_low, each.advised_high))
    part = f"{100 * each.low:.0f} to {100 * each.high:.0f} %"
    yield (
        f"{met}. Of stretches of {spelled(advice.seconds)} drawn from these statements the median {each.percentile} is "
        f"{usual}; 9 of 10 have {low} to {high}, and {part} start in time."
    )
    if each.advised_high is None or each.advised_high > each.limit:
        limit = duration(each.limit)
        if high == limit and each.advised_high is not None:  # the difference is less than a second
            high, limit = f"{each.advised_high:.1f} s", f"{each.limit:.1f} s"
        yield f"It may not meet {each.goal} again: {high} is more than {limit}."


# ---- The page.

_LINE, _TOP, _LEFT, _ROOM = 20.0, 6.0, 150.0, 100.0


def as_page(advice: Advice, made: datetime) -> str:
    """Return the advice as one HTML page without a script."""
    basis = [_first(advice), *_goals(advice)]
    story = [*closing(advice), *basis] if advice.verdict == "too_short" else [*basis, *closing(advice)]
    parts = [element("header", element("h1", "Advice on goals of service"), *(element("p", line) for line in story))]
    for curve in advice.curves:
        if sentence := _level(curve):
            parts.append(element("p", sentence))
            continue
        note = f"The mark is the goal, {duration(curve.seconds)}."
        parts.append(section(f"{curve.goal} against {curve.what}", element("figure", _picture(curve)), note=note))
    parts += [_choice_section(number, choice) for number, choice in enumerate(advice.choices, 1)]
    if advice.scripts is not None:
        note = f"presman never runs it{_other_scripts(advice)}."
        parts.append(section(_script_of(advice), element("pre", advice.scripts.change), note=note))
        parts.append(section("The script that undoes it", element("pre", advice.scripts.undo)))
    for name, texts in (("Notes", advice.notes), ("Assumptions", advice.assumptions)):
        if texts:
            parts.append(section(name, bullets(texts)))
    parts.append(element("p", f"Seed {advice.seed}; {made.astimezone():%Y-%m-%d %H:%M:%S}.", class_="note"))
    return page("Advice on goals of service", *parts)


def _choice_section(number: int, choice: ReplayedChoice) -> Markup:
    heads = ("Group", "Statements", "Median before -> after", "p95 before -> after", "Not started", "")
    changes = "; ".join(choice.changes) or "As it is"
    most = f"at most {counted(choice.peak, 'server')} at once"
    note = f"This {_judged(choice)}; {most}. The waits are those of all statements in the replay."
    return section(f"{number}. {changes}", word_table(heads, map(_cells, choice.groups)), note=note)


def _picture(curve: WaitCurve) -> Markup:
    """Return a curve as bars, one below the other."""
    longest = max([curve.seconds, *(wait for _, wait in curve.points if wait is not None)]) or 1.0
    scale = (WIDTH - _LEFT - _ROOM) / longest
    parts = []
    for index, ((value, wait), words) in enumerate(zip(curve.points, _waits(curve), strict=True)):
        y = _TOP + _LINE * index
        mark = " (now)" if value == curve.now else ""
        parts.append(label(_LEFT - 8, y + 13, f"{value} {curve.unit}{mark}", "end"))
        width = (longest if wait is None else wait) * scale
        parts.append(element("rect", x=_LEFT, y=y, width=max(1.0, width), height=_LINE - 4, fill="#0072b2"))
        parts.append(label(_LEFT + width + 6, y + 13, words, "start"))
    bottom, at = _TOP + _LINE * len(curve.points), _LEFT + curve.seconds * scale
    parts.append(element("path", d=f"M{at:.1f} {_TOP}V{bottom}", stroke=BAD, stroke_width=2))
    return drawing(bottom + 8, f"{curve.goal} against {curve.what}", parts)
