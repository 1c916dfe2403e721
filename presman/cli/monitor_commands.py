"""Commands, one function each. What a command needs is imported when it runs."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from types import MappingProxyType

from presman.cli import console, exit_codes
from presman.cli.early_interrupt import ending_at_once
from presman.cli.exit_codes import Failure


def monitor(options: Namespace) -> int:
    """Run `presman [TARGET]`: the monitor, or a few readings as text without a terminal; or tell the versions."""
    if options.version:
        from presman.cli import versions

        console.put(versions.long() if options.verbose else versions.short())
        return exit_codes.OK
    if options.verbose:
        raise Failure("--verbose goes with --version")
    with ending_at_once():
        from presman.cli.settings import default_target, load
        from presman.cli.start import watch, welcome

    config = load(options)
    text = options.target or default_target(config)
    if text is None:
        return welcome(config, options)
    return watch(text, config, options)


def demo(options: Namespace) -> int:
    """Run `presman demo [SCENARIO]`."""
    with ending_at_once():
        from presman.cli.settings import load
        from presman.cli.start import scenario_list, watch

    if options.list:
        console.show(scenario_list())
        return exit_codes.OK
    if options.speed is not None and not 0 < options.speed <= 3600:
        raise Failure(f"--speed {options.speed:g} is not above 0 and at most 3600")
    words = ("seed", "speed", "size", "release")
    given = {name: value for name in words if (value := getattr(options, name)) is not None}
    tail = "&".join(f"{name}={value}" for name, value in given.items())
    scenario = (options.scenario or "").removeprefix("demo:")
    joint = "" if not tail else "&" if "?" in scenario else "?"
    text = f"demo:{scenario}{joint}{tail}"
    return watch(text, load(options), options)


def fleet(options: Namespace) -> int:
    """Run `presman fleet [TARGET...]`."""
    from presman.cli.fleet_command import run

    return run(options)


def once(options: Namespace) -> int:
    """Run `presman once TARGET`."""
    from presman.analysis.alerts.judge import Judge
    from presman.analysis.assessment import assess
    from presman.cli.polling import OUTLIERS, Polling, late_views
    from presman.cli.settings import load, resolve
    from presman.output import json_document, text_report
    from presman.output.csv_export import CsvExport

    if options.measure and options.format != "csv":
        raise Failure("--measure goes with --format csv")
    if options.outliers and options.format == "csv":
        raise Failure("--outliers goes with --format text or json")
    resolved = resolve(options.target, load(options), options)
    requests = OUTLIERS if options.outliers else ()
    previous, snapshot, found = Polling(resolved, requests=requests, timeout=options.timeout).once(options.interval)
    reading = Judge(resolved.alerts, None).judge(found)  # two polls do not tell how long anything lasts
    late = late_views(previous, snapshot)
    if late and reading.stale is None:
        raise Failure(f"{resolved.target.name}: no view answered within {options.timeout:g} s", exit_codes.SOURCE)
    if options.outliers and not reading.outliers:
        console.say("no view of I/O outliers could be read: they exist from 12.1 on")
    if options.format == "json":
        console.put(json_document.dump(reading, assess(reading, previous, snapshot), ascii_only=console.wants_ascii()))
    elif options.format == "csv":
        CsvExport(console.data(), options.measure or resolved.measure or "cpu").write(reading)
    else:
        console.show(text_report.full(reading, console.width(), (previous, snapshot)))
    if late:
        console.say(f"not all answered within {options.timeout:g} s: {', '.join(late)}")
    return exit_codes.PARTIAL if late else exit_codes.OK


def narrate(options: Namespace) -> int:
    """Run `presman watch TARGET`."""
    from presman.cli.watch_command import run

    return run(options)


def export(options: Namespace) -> int:
    """Run `presman export TARGET`."""
    from presman.cli.export_command import run

    return run(options)


def check(options: Namespace) -> int:
    """Run `presman check TARGET`."""
    from presman.cli.check_command import run

    return run(options)


def alerts(options: Namespace) -> int:
    """Run `presman alerts [TARGET]`."""
    from presman.cli.check_command import rules

    return rules(options)


def record(options: Namespace) -> int:
    """Run `presman record TARGET... -o PLACE`."""
    from presman.cli.record_command import run

    return run(options)


def metrics(options: Namespace) -> int:
    """Run `presman metrics TARGET...`."""
    from presman.cli.metrics_command import run

    return run(options)


def status(options: Namespace) -> int:
    """Run `presman status`."""
    from presman.cli.status_command import run

    return run(options)


def serve(options: Namespace) -> int:
    """Run `presman serve TARGET`."""
    from presman.cli.serve_command import run

    return run(options)


def replay(options: Namespace) -> int:
    """Run `presman replay FILE`."""
    from presman.cli.settings import load
    from presman.cli.start import watch
    from presman.config.recording_target import is_recording, named_recording
    from presman.config.targets import parse_target

    config = load(options)
    text = named_recording(options.target, config)
    if text in config.sections:
        if parse_target(text, config).tape is None:
            raise Failure(f"{text} is not a recording: presman record {text} -o x.presman makes one")
    elif not is_recording(text):
        text = f"recording:{text}"
    return watch(text, config, options)


def report(options: Namespace) -> int:
    """Run `presman report FILE`."""
    from presman.cli.report_command import run

    return run(options)


def bundle(options: Namespace) -> int:
    """Run `presman bundle TARGET`."""
    from presman.cli.bundle_command import run

    return run(options)


def compare(options: Namespace) -> int:
    """Run `presman compare A B`."""
    from presman.cli.compare_command import run

    return run(options)


def chart(options: Namespace) -> int:
    """Run `presman chart FILE`."""
    from presman.cli.chart_command import run

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
    from presman.cli.lint_command import run

    return run(options)


def classic(options: Namespace) -> int:
    """Run `presman -m MEASURE`, as presman 1.x."""
    from presman.cli.classic_command import run

    return run(options)


def whatif(options: Namespace) -> int:
    """Run `presman whatif`."""
    from presman.cli.whatif_command import run

    return run(options)


def collect(options: Namespace) -> int:
    """Run `presman collect --sql`."""
    if not options.sql:
        raise Failure("collect prints a script: presman collect --sql > presman_collect.sql")

    from presman.base.release import SUPPORTED, Release
    from presman.config.setup.collect import collect_script

    try:
        release = Release.parse(options.release) if options.release else Release(19)
    except ValueError:
        raise Failure(f"--release {options.release} is not a release such as 19 or 12.2") from None
    if release < SUPPORTED[0]:
        raise Failure(f"--release {options.release} is older than {SUPPORTED[0]}, the oldest presman reads")
    console.put(collect_script(release))
    return exit_codes.OK


def config(options: Namespace) -> int:
    """Run `presman config`."""
    from presman.cli.settings import describe, load, sample

    console.show(sample() if options.sample else describe(load(options), options))
    return exit_codes.OK


def connect(options: Namespace) -> int:
    """Run `presman connect [NAME]`."""
    from presman.cli.connect_command import run

    return run(options)


def completions(options: Namespace) -> int:
    """Run `presman completions [SHELL]`."""
    from presman.cli.completions_command import run

    return run(options)


def trace(options: Namespace) -> int:
    """Run `presman trace FILE...`."""
    from presman.cli.trace_command import run

    return run(options)


COMMANDS: Mapping[str, Callable[[Namespace], int]] = MappingProxyType(
    {
        "monitor": monitor,
        "demo": demo,
        "fleet": fleet,
        "once": once,
        "watch": narrate,
        "export": export,
        "record": record,
        "metrics": metrics,
        "status": status,
        "serve": serve,
        "replay": replay,
        "report": report,
        "bundle": bundle,
        "compare": compare,
        "chart": chart,
        "check": check,
        "alerts": alerts,
        "whatif": whatif,
        "lint": lint,
        "classic": classic,
        "doctor": doctor,
        "grants": grants,
        "collect": collect,
        "trace": trace,
        "config": config,
        "connect": connect,
        "completions": completions,
    }
)
