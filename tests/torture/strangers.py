"""Strangers: malformed configurations, spools, traces, OTHER_XML, scenarios and arguments, made from a seed.

presman must answer each in lines of its own, in bounded time and memory. They are made from valid files with a few
changes, so that presman reads most of them to the end.
"""

from __future__ import annotations

import gzip
import random
import re
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from presman.analysis.facts.cursor_facts import dop_facts
from presman.cli.command_line import ALL, parser_of
from presman.config.target import SCENARIOS
from presman.rows.cursor_rows import PlanXml
from presman.rows.queries import to_records
from tests.cli.run import DATA
from tests.torture.judged import harmless, judged
from tests.torture.rounds import Broken, Task

NUMBERS = (
    b"0", b"-1", b"1e308", b"-1e400", b"nan", b"inf", b"9" * 40, b"1e-320", b"0x10", b"1_0", "٣".encode(), b"", b".5.5",
)  # fmt: skip
WORDS = (
    b"\x1b]0;owned\x07\x1b[2J", b"\xff\xfe\x80", b"\x00", b"\xef\xbb\xbf", "\u202eevil\u202c\u2028".encode(),
    b"A" * 70_000,
    b"%s%n{0}$HOME`id`", b"[/red][@click=app.quit]", b"'; DROP TABLE x --", b"<script>", b"=1+1", b"../../etc/passwd",
    b'"', b"'", b"[", b"]", b"=", b",", b"\r", b"\n\n", b"\t", b"#", b"\\",
)  # fmt: skip
CONFIG = b"""[presman]
connection_string = demo:mixed
option = cpu
refresh_rate = 2
scope = cluster
packs = tuning
bell = yes
alerts =
    queue_waits      warning=5m critical=30m for=2m
    queue_waits ETL  warning=1h
    cpu_capped       severity=off
on_alert = /bin/true --option
metrics_user = prometheus
metrics_password = geheim

[prod]
connection_string = monitor@dbhost.example.com:1521/prod
password = geheim
mode = sysdba
call_timeout = 20

[cloud]
dsn = adb_high
user = monitor
password_command = pass show oracle/vault
config_dir = ~/wallets/adb
wallet_location = ~/wallets/adb
thick = yes

[site]
connection_string = spool:~/spools/site-a?zone=Europe/Vienna
"""
LONG_TRACE = """WAIT #{number}: nam='log file parallel write' ela= {number}45 files=1 blocks=8 tim=149{number}
WAIT #0: nam='db file sequential read' ela= 301 file#=4 block#=12 blocks=1 obj#=7 tim=15{number}
*** 2015-06-01T10:01:00.{number}+02:00
"""


def changed(content: bytes, rng: random.Random) -> bytes:
    """Return a file with a few changes, such as other programs, editors and broken disks make."""
    for _ in range(rng.choice((1, 1, 2, 4, 12))):
        content = rng.choice(_CHANGES)(content, rng)
    return content


def _number(content: bytes, rng: random.Random) -> bytes:
    """Replace a number by another."""
    places = [place for place, byte in enumerate(content) if 48 <= byte <= 57]
    if not places:
        return content
    begin = end = rng.choice(places)
    while end < len(content) and content[end : end + 1].isdigit():
        end += 1
    return content[:begin] + rng.choice(NUMBERS) + content[end:]


def _word(content: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(content) + 1)
    return content[:place] + rng.choice(WORDS) + content[place + rng.choice((0, 0, 1, 8)) :]


def _bits(content: bytes, rng: random.Random) -> bytes:
    new = bytearray(content or b"\0")
    new[rng.randrange(len(new))] ^= 1 << rng.randrange(8)
    return bytes(new)


def _lines(content: bytes, rng: random.Random) -> bytes:
    """Remove a line, duplicate one, or swap two."""
    lines = content.splitlines(keepends=True) or [b""]
    one, other = (rng.randrange(len(lines)) for _ in range(2))
    what = rng.randrange(3)
    if what == 0:
        del lines[one]
    elif what == 1:
        lines[other:other] = [lines[one]] * rng.choice((1, 1, 300))
    else:
        lines[one], lines[other] = lines[other], lines[one]
    return b"".join(lines)


def _cut(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


_CHANGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (_number, _number, _word, _word, _bits, _lines, _cut)


# ---- answers of other servers


def _config(number: int, rng: random.Random, folder: Path) -> int:
    path = folder / "config.ini"
    path.write_bytes(changed(CONFIG, rng))
    path.chmod(0o600)
    words = ["config", "prod", "--config", str(path)] if number % 2 else ["config", "--config", str(path)]
    return judged(words).code


def _spool(number: int, rng: random.Random, folder: Path) -> int:
    spool = folder / "spool"
    shutil.rmtree(spool, ignore_errors=True)
    shutil.copytree(DATA / rng.choice(("queueing_12102", "event_histogram_10min", "other_xml_12102")), spool)
    for path in rng.sample(sorted(spool.iterdir()), rng.choice((1, 1, 2))):
        path.write_bytes(changed(path.read_bytes(), rng))
    how = (["once", "--format", "json"], ["once"], ["lint"], ["export", "-o", "-"], ["watch"])[number % 5]
    return judged([how[0], f"spool:{spool}", *how[1:]]).code


def _trace(number: int, rng: random.Random, folder: Path) -> int:
    whole = "".join(LONG_TRACE.format(number=each) for each in range(rng.choice((1, 40)))).encode()
    content = changed((DATA / "trace_10046_log_file_parallel_write.trc").read_bytes() + whole, rng)
    path = folder / ("a.trc.gz" if number % 4 == 0 else "a.trc")
    if number % 4 == 0:
        content = gzip.compress(content, 1)
        content = _bits(content, rng) if number % 8 else _cut(content, rng)
    path.write_bytes(content)
    return judged(
        ["trace", str(path), *(["--list"], ["--all", "--csv", "-"], ["--chart", "histogram"])[number % 3]]
    ).code


def _scenario(number: int, rng: random.Random, folder: Path) -> int:
    path = folder / "a.toml"
    content = rng.choice(sorted(SCENARIOS.glob("*.toml"))).read_bytes()
    path.write_bytes(re.sub(rb'warmup *= *"[^"]*"', b'warmup = "1m"', changed(content, rng)))
    return judged(["once", f"demo:{path}", "--interval", "0.1", "--format", "json"]).code


def _arguments(_number: int, rng: random.Random, folder: Path) -> int:
    """Run only `config`, `alerts` and `grants` to their end: other commands would begin to watch a database."""
    name = rng.choice(sorted(ALL))
    options = [word for action in parser_of(name)._actions for word in action.option_strings]
    values = [word.decode("utf-8", "surrogateescape") for word in (*NUMBERS, *WORDS) if b"\0" not in word]
    words = [rng.choice((rng.choice(options), rng.choice(values), name)) for _ in range(rng.randrange(6))]
    if name in {"config", "alerts", "grants"} and not {"--config"} & set(words):
        return judged([name, *words, "--config", str(folder / "nothing.ini")]).code
    return judged([name, *words, "--no-such-option"]).code


def _other_xml(_number: int, rng: random.Random, _folder: Path) -> int:
    row = (1, "0000000000000", 0, _document(rng))
    (record,) = to_records(PlanXml, [row[: len(PlanXml._fields)]])
    found = dop_facts(record.other_xml)
    for text in (
        found.reason,
        found.queuing_reason,
        found.operation_reason,
        found.unread,
        *found.facts,
        *found.facts.values(),
    ):
        harmless(text, "OTHER_XML")
        if "root:" in text or len(text) > 200_000:
            raise Broken(f"OTHER_XML was read beyond itself: {text[:200]!r}")
    return int(found.degree is None)


def _document(rng: random.Random) -> str:
    """Return an OTHER_XML document: a published one with some changes, or a malicious one."""
    whole = (DATA / "other_xml_12102" / "v$sql_plan.csv").read_text().split('"', 1)[1].rstrip('\n"').replace('""', '"')
    laughs = "".join(f'<!ENTITY l{each} "{f"&l{each - 1};" * 10}">' for each in range(1, rng.randrange(2, 12)))
    inner = f"<other_xml><info type='dop_reason'>&{rng.choice(('l1', 'l9', 'x'))};</info></other_xml>"
    places = ("file:///etc/passwd", "http://127.0.0.1:9/x.dtd", "php://filter", "/dev/zero")
    return rng.choice((
        lambda: changed(whole.encode(), rng).decode("utf-8", "replace"),
        lambda: f'<!DOCTYPE o [<!ENTITY l0 "ha">{laughs}]>{inner}',
        lambda: f'<!DOCTYPE o [<!ENTITY x SYSTEM "{rng.choice(places)}">]>{inner}',
        lambda: f'<!DOCTYPE o [<!ENTITY % p SYSTEM "{rng.choice(places)}"> %p;]>{inner}',
        lambda: f'<!DOCTYPE o SYSTEM "{rng.choice(places)}">{inner}',
        lambda: "<a>" * (deep := rng.choice((10, 3_000, 30_000))) + "</a>" * deep,
        lambda: "<info type='dop'>" + "9" * rng.choice((3, 9, 10, 5_000)) + "</info>",
        lambda: "<info" + "".join(f" a{each}='1'" for each in range(5_000)) + "/>",
        lambda: "<?xml version='1.0' encoding='" + rng.choice(("utf-7", "utf-16", "cp037", "x")) + f"'?>{whole}",
    ))()  # fmt: skip


_KINDS: dict[str, Callable[[int, random.Random, Path], int]] = {
    "config": _config,
    "spool": _spool,
    "trace": _trace,
    "scenario": _scenario,
    "arguments": _arguments,
    "other_xml": _other_xml,
}
KINDS = tuple(_KINDS)


def run_kind(task: Task) -> str:
    """Give presman a malformed input of one kind in each round. Raises Broken."""
    codes: Counter[int] = Counter()
    for number in task.rounds:
        rng = random.Random(f"{task.seed} {task.part} {number}")
        try:
            codes[_KINDS[task.part](number, rng, task.folder)] += 1
        except Broken as error:
            raise Broken(f"{task.part}, seed {task.seed}, number {number}: {error}") from error
        if number % 200 == 199:
            task.log(f"{number + 1} done")
    found = ", ".join(f"{count} with {code}" for code, count in sorted(codes.items()))
    return f"{codes.total()} of kind {task.part} answered: {found}"
