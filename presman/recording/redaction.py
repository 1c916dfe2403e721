"""Redaction: snapshots without SQL texts, binds, users, machines or programs, safe to show to strangers.

Each name is always replaced by the same other name, so that a snapshot stays meaningful: which session waits for which,
and for which statement. A text field that is not listed here is renamed, too. Consumer groups and plans keep their
names: they are the subject of a recording.
"""

import os
import re
from base64 import b32encode
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from hashlib import blake2b
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from presman.base.private_files import open_private, read_private, state_folder
from presman.rows.queries import RecordType, field_types
from presman.rows.snapshot import Problem, Section, Snapshot

KEPT = frozenset(
    {
        "active_state", "allowed_automated_switches", "attribute", "cdb", "consumer_group", "consumer_group_name",
        "cpu_managed", "current_consumer_group", "database_role", "distribution", "enabled_by_scheduler", "event",
        "function_name",
        "group_or_subplan", "instance_caging", "is_gv", "is_top_plan", "last_action", "last_action_reason",
        "mapped_consumer_group", "mapping_attribute", "mgmt_method", "object_node", "open_mode", "operation", "opname",
        "options", "other_tag", "parallel", "parallel_execution_managed", "parallel_stmt_critical", "plan", "pq_status",
        "pq_timeout_action", "prev_sql_id", "resource_consumer_group", "server_name", "sql_id", "stat_name", "state",
        "statistic", "status", "sub_plan", "switch_estimate", "switch_for_call", "switch_group", "type", "units",
        "version", "wait_class", "wait_event", "why_none",
    }
)  # fmt: skip
"""Fields that identify no person and no machine."""

_KINDS: Mapping[str, str] = {
    "client_identifier": "client", "db_unique_name": "database", "disk1_name": "disk", "disk2_name": "disk",
    "disk3_name": "disk", "file_name": "file", "host_name": "machine", "instance_name": "database",
    "object_name": "object", "partition_start": "partition", "partition_stop": "partition", "pdb_name": "pdb",
    "pluggable_database": "pdb", "service_name": "service", "target": "object", "username": "user",
    "window_name": "window",
}  # fmt: skip
"""The kind of thing that a field names, where that is not the field's name."""

_KEPT_IN: Mapping[str, frozenset[str]] = {
    "name": frozenset({"ConsumerGroup", "Parameter", "RsrcPlan", "RsrcPlanHistory", "StatisticName", "Sysstat"}),
    "value": frozenset({"Parameter"}),
}
"""Fields that identify no person and no machine in some records."""

_NAMED_BY = {"Database": "database", "Pdb": "pdb", "ActiveService": "service"}
"""The kind of thing that the field `name` of a record names."""

_OF_ATTRIBUTE = {
    "ORACLE_USER": "user", "SERVICE_NAME": "service", "CLIENT_OS_USER": "osuser", "CLIENT_PROGRAM": "program",
    "CLIENT_MACHINE": "machine", "MODULE_NAME": "module", "CLIENT_ID": "client",
}  # fmt: skip
_ORACLES_OWN = frozenset({"SYS", "SYSTEM", "PUBLIC", "CDB$ROOT", "PDB$SEED", "SYS$USERS", "SYS$BACKGROUND"})
_PROCESS = re.compile(r".*\((\w{3,5})\)")
_HINT = re.compile(r"\b(?:NO_)?(?:PARALLEL(?:\s*\(\s*\d+\s*\))?|STATEMENT_QUEUING)(?![\w(])", re.IGNORECASE)
_FACT = re.compile(
    r'<info type="((?:derived_)?(?:cpu_|io_)?dop(?:_\w+)?|px_\w+|queuing_reason|db_version|adaptive_plan|plan_hash\w*)"'
    r"(?: note=\"y\")?>(?:<!\[CDATA\[)?([\w .,/()%-]{0,80})(?:\]\]>)?</info>"
)
_MAP = re.compile(r'<display_map>(?:<row(?: \w+="\d+")*/>)*</display_map>')


_KEY = 32
_LETTERS = 5
"""Bytes of the hash in a name, shown as eight letters: among 40,000 names two are hardly ever equal."""


_NEW_TARGET = re.compile(r"TARGET_[A-Z2-7]{8}")
_MOST_KNOWN = 20_000
"""Names that are remembered, so that they need not be computed again."""


def is_renamed(target: str) -> bool:
    """Return whether a target has a name given by a redactor.

    >>> is_renamed(Redactor().target("prod")), is_renamed("prod")
    (True, False)
    """
    return _NEW_TARGET.fullmatch(target) is not None


def lasting_key() -> bytes:
    """Return the user's key for names that stay the same from run to run; create it if missing. Raises OSError.

    It stays in the user's own folder: without it, one cannot even test whether a given name is in a recording.
    """
    path = state_folder() / "redaction.key"
    try:
        found = read_private(path, _KEY)
        if len(found) == _KEY:
            return found
    except FileNotFoundError:
        pass
    key = os.urandom(_KEY)
    with os.fdopen(open_private(path, os.O_TRUNC), "wb") as file:
        file.write(key)
    return key


class Redactor:
    """Redacts the snapshots of one or more recorders; with the same `key`, a name always gets the same replacement.

    Without `key` it uses a random one, which is never stored.
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key or os.urandom(_KEY)
        self._names: dict[tuple[str, str], str] = {}
        self._sections: dict[RecordType, tuple[Section, Section]] = {}

    def __call__(self, snapshot: Snapshot) -> Snapshot:
        """Return a snapshot without anything that identifies users or machines."""
        sections: dict[RecordType, Section] = {}
        for record, section in snapshot.sections.items():
            # A section that did not change is the same object: it is redacted once.
            known = self._sections.get(record)
            if known is None or known[0] is not section:
                known = self._sections[record] = (section, self._section(record, section))
            sections[record] = known[1]
        target = self._name("target", snapshot.target)
        return replace(snapshot, target=target, sections=MappingProxyType(sections), notes=())

    def target(self, name: str) -> str:
        """Return the new name of a target."""
        return self._name("target", name)

    def _section(self, record: RecordType, section: Section) -> Section:
        problem = section.problem
        if problem is not None:
            text = "no answer in time" if problem.late else "not read"
            problem = Problem(problem.code, text, problem.view, "", problem.late)
        changes = [self._change(record.__name__, name, kind) for name, (kind, _) in field_types(record).items()]
        make: Callable[[Any], Any] = record._make  # type: ignore[attr-defined]
        rows = tuple(
            make([value if change is None else change(value, row) for change, value in zip(changes, row, strict=True)])
            for row in section.rows
        )
        return replace(section, rows=rows, problem=problem)

    def _change(self, record: str, field: str, kind: type[Any]) -> Callable[[Any, Any], Any] | None:
        """Return the function that changes a field, None if the field stays."""
        if kind is not str or field in KEPT or record in _KEPT_IN.get(field, ()):
            return None
        if field == "value":
            return lambda value, row: self._name(_OF_ATTRIBUTE.get(getattr(row, "attribute", ""), field), value)
        kind_named = _NAMED_BY.get(record, field) if field == "name" else _KINDS.get(field, field)
        redact = {
            "program": self._program,
            "sql_text": self._statement,
            "other_xml": _facts,
            "access_predicates": _left_out,
            "filter_predicates": _left_out,
            "comments": _left_out,
        }.get(field, partial(self._name, kind_named))
        return lambda value, _: redact(value)

    def _name(self, what: str, value: str) -> str:
        """Return the replacement of a name. Oracle's own names and empty ones stay."""
        if not value or value.upper() in _ORACLES_OWN:
            return value
        key = (what, value.upper())
        if key not in self._names:
            if len(self._names) >= _MOST_KNOWN:
                self._names.clear()
            content = "\0".join(key).encode("utf-8", "surrogatepass")
            digest = blake2b(content, key=self._key, digest_size=_LETTERS).digest()
            self._names[key] = f"{what.upper()}_{b32encode(digest).decode()}"
        return self._names[key]

    def _program(self, value: str) -> str:
        process = _PROCESS.fullmatch(value)
        if process is None:
            return self._name("program", value)
        return f"oracle@{self._name('machine', value.partition('@')[2].partition(' ')[0])} ({process[1]})"

    def _statement(self, value: str) -> str:
        if not value:
            return ""
        hints = " ".join(dict.fromkeys(" ".join(hint.split()) for hint in _HINT.findall(value)))
        name = self._name("statement", value)
        return f"{f'/*+ {hints} */ ' if hints else ''}{name}, {len(value)} characters"


def _left_out(value: str) -> str:
    return "(left out)" if value else ""


def _facts(document: str) -> str:
    """Return the parts of OTHER_XML about degree, queuing and skipped lines of the plan."""
    if not document:
        return ""
    facts = "".join(f'<info type="{kind}">{text}</info>' for kind, text in _FACT.findall(document))
    return f"<other_xml>{facts}{''.join(_MAP.findall(document))}</other_xml>"


def as_of(at: datetime) -> str:
    """Return an instant as part of a file's name."""
    return f"{at.astimezone():%Y%m%d-%H%M%S}"
