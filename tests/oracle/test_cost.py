"""Cost of reading for the database: round trips, sessions, statements."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import re
import threading
from collections import Counter
from pathlib import Path

import psutil
import pytest

from presman.base.release import Release
from presman.polling.poller import Poller
from presman.rows.cursor_rows import SqlText
from presman.rows.instance_rows import Instance, Sysstat
from presman.rows.session_rows import Session
from presman.sources import SourceError
from presman.sources.oracle.oracle_source import OracleSource
from tests.memory import forget_others
from tests.oracle.bench import RELEASES, Bench, hurried
from tests.oracle_server.faults import Action, Cut, Delay, Garbage, Hold, Mute, Ora, Refuse, Stage
from tests.patience import until
from tests.thorough import THOROUGH


def test_a_poll_is_one_round_trip_or_one_per_query(bench: Bench) -> None:
    poller = Poller(bench.source(call_timeout=30))
    poller.open()
    poller.poll()
    counters = bench.server.counters
    counters.reset()
    snapshot = poller.poll()
    assert not snapshot.problems()
    asked = counters.statements()
    assert len(asked) == len(set(asked)) >= 10  # including the clock
    assert snapshot.round_trips == counters.round_trips == (1 if bench.release == Release(23) else len(asked))
    assert counters.most_sessions == 1
    poller.close()


def test_nothing_but_reading(bench: Bench) -> None:
    poller = Poller(bench.source(call_timeout=30))
    poller.open()
    poller.poll()
    poller.poll()
    poller.close()
    counters = bench.server.counters
    until(lambda: not counters.sessions, "no session is left")
    assert {text.split()[0] for text in counters.statements()} == {"SELECT"}
    assert set(counters.calls) - {"protocol", "data types", "34", "pipeline"} == {
        "login one",
        "login two",
        "execute",
        "logoff",
    } - ({"login one"} if bench.release == Release(23) else set())
    assert counters.logins == counters.most_sessions == 1


def test_the_session_is_named_presman(bench: Bench) -> None:
    bench.opened()
    attributes = bench.server.counters.attributes
    assert (attributes["module"], attributes["action"]) == ("presman", "monitor")
    assert attributes["client_info"].startswith("presman ")


def test_a_text_is_parsed_once(bench19: Bench) -> None:
    source = bench19.opened()
    bench19.read(source, Session)
    counters = bench19.server.counters
    first = counters.bytes_in
    bench19.read(source, Session)
    again = counters.bytes_in - first
    counters.reset()
    bench19.read(source, Session)
    assert counters.bytes_in == again < 200  # no SQL text is sent


def test_quitting_leaves_nothing_behind(bench: Bench) -> None:
    before = threading.active_count()
    for _ in range(3):
        source = bench.opened()
        bench.read(source, Instance)
        source.close()
    assert threading.active_count() == before


FAULTS: dict[Stage, list[Action]] = {
    Stage.CONNECT: [Refuse(12514), Refuse(12528), Garbage(), Cut(0), Cut(9), Mute()],
    Stage.LOGIN: [Cut(0), Cut(11), Cut(150), Ora(18, "maximum number of sessions exceeded"), Mute()],
    Stage.STATEMENT: [
        Cut(0),
        Cut(40),
        Cut(700),
        Ora(28, "your session has been killed"),
        Ora(942, "table or view does not exist"),
        Ora(3113, "end-of-file on communication channel"),
        Ora(1089, "immediate shutdown in progress"),
        Ora(4031, "unable to allocate memory", 2),
        Delay(60),
        Mute(),
        Hold(60),
    ],
}


class Storm:
    """Makes random faults from a seed, and counts them."""

    def __init__(self, seed: int, share: float, slow: float, faults: dict[Stage, list[Action]] = FAULTS) -> None:
        self._rng = random.Random(seed)
        self._faults = faults
        self._share = share
        self._slow = slow
        self.committed: Counter[str] = Counter()
        self.on = True

    def __call__(self, stage: Stage, sql: str) -> Action | None:
        share = self._share / 4 if stage is Stage.STATEMENT else self._share
        if not self.on or self._rng.random() >= share:
            return None
        action = self._rng.choice(self._faults[stage])
        if isinstance(action, Mute | Delay | Hold) and self._rng.random() >= self._slow:
            return None
        self.committed[stage.value] += 1
        return action


def weather(bench: Bench, seed: int, faults: int) -> Counter[str]:
    """Read until `faults` have occurred; after each loss the next good poll must be right."""
    storm = Storm(seed, 0.3, 0.05)
    bench.server.faults.chooser = storm
    source = bench.source()
    while sum(storm.committed.values()) < faults:
        try:
            storm.on = True
            with hurried(source, 0.05):
                source.open()
                for _ in range(3):
                    for section in bench.read(source, Instance, Session, Sysstat):
                        assert bool(section.rows) is not bool(section.problem)
        except SourceError as error:
            if not error.retry:
                raise
        storm.on = False
        assert recovered(bench, source) == [1, 40, 1]
    source.close()
    return storm.committed


def recovered(bench: Bench, source: OracleSource) -> list[int]:
    """Return the number of rows of each query in the next good poll."""
    source.open()
    return [len(section.rows) for section in bench.read(source, Instance, Session, Sysstat)]


def leftovers(process: psutil.Process) -> tuple[int, int, int, int]:
    """Return open files and sockets, threads, event loops that are not closed, and the tasks in them."""
    gc.collect()
    loops = [found for found in gc.get_objects() if isinstance(found, asyncio.AbstractEventLoop)]
    tasks = sum(not loop.is_closed() and len(asyncio.all_tasks(loop)) for loop in loops)
    return process.num_fds(), process.num_threads(), sum(not loop.is_closed() for loop in loops), tasks


LONG = int(os.environ.get("PRESMAN_STORM", "0"))
STORMS = [(release, seed) for release in RELEASES for seed in (1, 2)]


@pytest.mark.parametrize(
    ("bench", "seed"),
    STORMS if LONG or THOROUGH else [(Release(23), 1)],
    ids=str,
    indirect=["bench"],
)
def test_a_storm_of_faults(bench: Bench, seed: int) -> None:
    """PRESMAN_STORM=1000 makes it a long one."""
    process = psutil.Process()
    forget_others()
    weather(bench, seed=0, faults=5)
    bench.server.faults.clear()
    bench.server.drop_sessions()
    before = leftovers(process)
    committed = weather(bench, seed, faults=LONG or 16)
    assert all(committed[stage.value] for stage in Stage)
    # The server notices the end of each session separately.
    until(lambda: not bench.server.counters.connections, "no connection is left")
    assert bench.server.counters.sessions == 0
    after = leftovers(process)
    assert all(now <= then for now, then in zip(after, before, strict=True)), (before, after)


def test_sessions_do_not_pile_up(bench: Bench) -> None:
    """A monitor that loses its connection repeatedly never has two sessions."""
    source = bench.opened()
    for code in (28, 3113, 1089, 2396, 1012):
        bench.server.faults.add(Stage.STATEMENT, Ora(code, "gone"), "gv$session")
        with pytest.raises(SourceError):
            bench.read(source, Instance, Session)
        source.open()
    assert bench.server.counters.most_sessions == 1


def test_the_document_names_the_drivers_other_statements(bench: Bench) -> None:
    """With the login the driver sets the session's time zone, as the documents say."""
    poller = Poller(bench.source(call_timeout=30))
    poller.open()
    assert re.fullmatch(r"ALTER SESSION SET TIME_ZONE='[+-]\d\d:\d\d'", bench.server.counters.last_login.alters)
    page = (Path(__file__).parents[2] / "docs" / "security.md").read_text(encoding="utf-8")
    assert "presman sends nothing but SELECT" in page
    assert "`ALTER SESSION SET TIME_ZONE`" in page
    poller.close()


def test_a_new_statement_costs_a_round_trip_for_each_document_and_one_for_the_rest(bench: Bench) -> None:
    """Once: its text, its OTHER_XML, and the plan lines of its servers, which 23ai answers for all statements together.

    Before 23ai the clock is also read before the second round of queries.
    """
    names = ["INST_ID", "SID", "SERIAL#", "TYPE", "USERNAME", "SQL_ID", "SQL_CHILD_NUMBER", "EVENT"]
    queued = [(1, 200 + number, 7, "USER", "U", f"sql{number:010}", 0, "resmgr:pq queued") for number in range(4)]
    poller = Poller(bench.source(call_timeout=30))
    poller.open()
    counters = bench.server.counters

    def poll(shown: int) -> int:
        bench.put("GV$SESSION", names, queued[:shown])
        counters.reset()
        snapshot = poller.poll()
        assert snapshot.round_trips == counters.round_trips
        return counters.round_trips

    rest = 1 if bench.release >= Release(23) else 3 + 1
    poll(0)
    poll(1)
    nothing_new = poll(1)
    assert poll(4) == nothing_new + 2 * 3 + rest
    assert poll(4) == nothing_new
    assert counters.calls["pipeline"] == (1 if bench.release >= Release(23) else 0)
    poller.close()


def test_the_texts_of_the_busiest_cost_one_round_trip_a_minute(bench: Bench) -> None:
    """Forty serial statements: one query reads twenty texts, and the polls between read none.

    The first time takes two round trips, because the driver does not know the columns yet.
    """
    names = ["INST_ID", "SID", "SERIAL#", "TYPE", "USERNAME", "SQL_ID", "SQL_CHILD_NUMBER", "STATUS"]
    rows = [(1, 200 + number, 7, "USER", "U", f"sql{number:010}", 0, "ACTIVE") for number in range(40)]
    bench.put("GV$SESSION", names, rows)
    texts = [(1, row[5], 0, f"select {row[1]} from dual") for row in rows]
    bench.put("GV$SQL", ["INST_ID", "SQL_ID", "CHILD_NUMBER", "SQL_FULLTEXT"], texts)
    now = [0.0]
    poller = Poller(bench.source(call_timeout=30), clock=lambda: now[0])
    poller.open()
    counters = bench.server.counters

    def poll(seconds: float) -> tuple[int, int, int]:
        now[0] += seconds
        counters.reset()
        snapshot = poller.poll()
        assert snapshot.round_trips == counters.round_trips
        asked = sum("sql_id IN (" in text for text in counters.statements())
        return counters.round_trips, asked, len(snapshot.rows(SqlText))

    poll(0)
    ordinary, asked, known = poll(1)
    assert (asked, known) == (0, 0)
    assert poll(6) == (ordinary + 2, 1, 20)
    assert poll(2) == (ordinary, 0, 20)
    with_minute, asked, known = poll(70)  # 23ai answers the other queries of each minute in the same round trip
    assert (asked, known) == (1, 40)
    assert bench.release < Release(23) or with_minute == ordinary + 1
    assert poll(2) == (ordinary, 0, 40)
    poller.close()
