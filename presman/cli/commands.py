"""One function per command. What a command needs is imported when it runs."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from types import MappingProxyType

from presman.cli import codes, talk
from presman.cli.codes import Failure


def monitor(options: Namespace) -> int:
    """Run `presman [TARGET]`: the monitor, or a few readings as text without a terminal."""
    from presman.cli.settings import default_target, load
    from presman.cli.start import GETTING_STARTED, watch

    config = load(options)
    text = options.target or default_target(config)
    if text is None:
        talk.show(GETTING_STARTED)
        return codes.OK
    return watch(text, config, options)


def demo(options: Namespace) -> int:
    """Run `presman demo [SCENARIO]`."""
    from presman.cli.settings import load
    from presman.cli.start import scenario_list, watch

    if options.list:
        talk.show(scenario_list())
        return codes.OK
    if options.speed is not None and not 0 < options.speed <= 3600:
        raise Failure(f"--speed {options.speed:g} is not above 0 and at most 3600")
    words = ("seed", "speed", "size", "release")
    given = {name: value for name in words if (value := getattr(options, name)) is not None}
    tail = "&".join(f"{name}={value}" for name, value in given.items())
    scenario = (options.scenario or "").removeprefix("demo:")
    joint = "" if not tail else "&" if "?" in scenario else "?"
    text = f"demo:{scenario}{joint}{tail}"
    if options.listen is not None:
        from presman.cli.database import listen

        return listen(text, load(options), options)
    return watch(text, load(options), options)


def once(options: Namespace) -> int:
    """Run `presman once TARGET`."""
    from presman.analysis.assessment import assess
    from presman.cli.polling import OUTLIERS, Polling
    from presman.cli.settings import load, resolve
    from presman.output import document, plain
    from presman.output.export import CsvExport

    if options.measure and options.format != "csv":
        raise Failure("--measure goes with --format csv")
    if options.outliers and options.format == "csv":
        raise Failure("--outliers goes with --format text or json")
    resolved = resolve(options.target, load(options), options)
    wishes = OUTLIERS if options.outliers else ()
    previous, snapshot, reading = Polling(resolved, wishes=wishes).once(options.interval)
    if options.outliers and not reading.outliers:
        talk.say("no view of I/O outliers could be read: they are there from 12.1 on")
    if options.format == "json":
        talk.put(document.dump(reading, assess(reading, previous, snapshot), ascii_only=talk.wants_ascii()))
    elif options.format == "csv":
        CsvExport(talk.data(), options.measure or resolved.measure or "cpu").write(reading)
    else:
        talk.show(plain.full(reading, talk.width(), assess(reading, previous, snapshot)))
    return codes.OK


def export(options: Namespace) -> int:
    """Run `presman export TARGET`."""
    from presman.cli.exporting import run

    return run(options)


def doctor(options: Namespace) -> int:
    """Run `presman doctor TARGET`."""
    from presman.cli.database import doctor as run

    return run(options)


def grants(options: Namespace) -> int:
    """Run `presman grants`."""
    from presman.cli.database import grants as run

    return run(options)


def lint(options: Namespace) -> int:
    """Run `presman lint TARGET`."""
    from presman.cli.linting import run

    return run(options)


def classic(options: Namespace) -> int:
    """Run `presman -m MEASURE`, as presman 1.x."""
    from presman.cli.classic import run

    return run(options)


def whatif(options: Namespace) -> int:
    """Run `presman whatif`."""
    from presman.whatif.command import run

    return run(options)


def collect(options: Namespace) -> int:
    """Run `presman collect --sql`."""
    if not options.sql:
        raise Failure("collect prints a script: presman collect --sql > presman_collect.sql")

    from presman.collect import collect_script
    from presman.release import SUPPORTED, Release

    try:
        release = Release.parse(options.release) if options.release else Release(19)
    except ValueError:
        raise Failure(f"--release {options.release} is not a release such as 19 or 12.2") from None
    if release < SUPPORTED[0]:
        raise Failure(f"--release {options.release} is older than {SUPPORTED[0]}, the oldest presman reads")
    talk.put(collect_script(release))
    return codes.OK


def config(options: Namespace) -> int:
    """Run `presman config`."""
    from presman.cli.settings import describe, load, sample

    talk.show(sample() if options.sample else describe(load(options), options))
    return codes.OK


def trace(options: Namespace) -> int:
    """Run `presman trace FILE...`."""
    from presman.trace.command import run

    return run(options)


COMMANDS: Mapping[str, Callable[[Namespace], int]] = MappingProxyType(
    {
        "monitor": monitor,
        "demo": demo,
        "once": once,
        "export": export,
        "whatif": whatif,
        "lint": lint,
        "classic": classic,
        "doctor": doctor,
        "grants": grants,
        "collect": collect,
        "trace": trace,
        "config": config,
    }
)
