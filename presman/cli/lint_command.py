"""Command `presman lint`: what is doubtful about the plans in force, for people and for scripts."""

from argparse import Namespace

from presman.analysis.assemble import analyse
from presman.analysis.plans.lint import lint, lint_coverage
from presman.analysis.plans.lint_rules import Finding, Severity
from presman.analysis.readings.reading import Reading
from presman.cli import console, exit_codes
from presman.cli.parser import Parser, add_format, choice, command_parser, option
from presman.cli.polling import Polling
from presman.cli.settings import load, resolve
from presman.output.json_document import plain, written
from presman.output.text_report import findings
from presman.rows.queries import DetailLevel
from presman.rows.snapshot import Snapshot

NEVER = "never"


def arguments() -> Parser:
    """Return the parser of `presman lint`."""
    parser = command_parser(
        "lint",
        "Print the problems of the active plans: severity, reason, and the manual that describes it.",
        """\
  presman lint prod
  presman lint prod --format json | jq '.findings[].rule'
  presman lint spool:/tmp/spool --fail-on warning""",
        "scope at",
    )
    option(parser, "target TARGET", "what to read (default: the one in config.ini)", nargs="?")
    add_format(parser, "text", "json")
    words = "end with code 5 if there is a finding this severe: error (default), warning, note, never"
    choice(parser, "--fail-on SEVERITY", words, "error", "warning", "note", NEVER)
    return parser


def run(options: Namespace) -> int:
    """Print the findings; the exit code tells whether one is as severe as --fail-on, or nothing could be judged."""
    snapshot, reading = _one(options)
    found, coverage = lint(reading, snapshot), lint_coverage(reading, snapshot)
    if options.format == "json":
        document = {"plan": reading.header.plan, "findings": plain(found), "sight": plain(coverage)}
        console.put(written({**document, "notes": plain(reading.notes)}, ascii_only=True))
    else:
        console.show(findings(reading, found, coverage, console.width()))
    if any(_counts(finding, options.fail_on) for finding in found):
        return exit_codes.FINDINGS
    return exit_codes.BLIND if coverage.blind and options.fail_on != NEVER else exit_codes.OK


def _one(options: Namespace) -> tuple[Snapshot, Reading]:
    polling = Polling(resolve(options.target, load(options), options), detail_level=DetailLevel.NARROW)
    *_, (_, last) = polling.pairs(polls=1 if polling.endless else None, newest=1)
    return last, analyse(None, last)


def _counts(finding: Finding, fail_on: str) -> bool:
    order = [severity.value for severity in Severity]
    return fail_on != NEVER and order.index(finding.severity.value) <= order.index(fail_on)
