"""Traces of any size, of a redo writer and of a session (parses, executions, binds, plans, waits)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

_HEAD = (
    b"Trace file /u01/app/oracle/diag/rdbms/demo/demo/trace/demo_%s_4711.trc\n"
    b"Oracle Database 12c Enterprise Edition Release 12.1.0.2.0 - 64bit Production\n\n"
    b"*** 2015-06-01 10:00:00.000\n"
)
_WAITS = 4_000
_TIMES = 8
"""How often a block is repeated, because generating is slower than reading."""

_STATEMENT = (
    "=====================\n"
    "PARSING IN CURSOR #{cursor} len=171 dep=0 uid=84 oct=3 lid=84 tim={tim} hv=2519317523 ad='7f6c1b10' sqlid='8a1t'\n"
    "select c.customer_id, sum(o.amount) from orders o, customers c where o.customer_id = c.customer_id\n"
    " and o.region = :b1 and o.order_date > :b2\ngroup by c.customer_id\nEND OF STMT\n"
)
_BINDS = (
    "BINDS #{cursor}:\n Bind#0\n  oacdty=02 mxl=22(22) mxlc=00 mal=00 scl=00 pre=00\n"
    "  oacflg=00 fl2=1000001 frm=00 csi=00 siz=24 off=0\n  kxsbbbfp=7f6c1b10  bln=22  avl=02  flg=05\n  value=12\n"
)
_CALL = "{call} #{cursor}:c=1000,e=412,p=0,cr=4,cu=0,mis=0,r=0,dep=0,og=1,plh=1388734953,tim={tim}\n"
_PLAN = (
    "STAT #{cursor} id=1 cnt=1 pid=0 pos=1 obj=0 op='SORT AGGREGATE (cr=4 pr=1 pw=0 time=271 us)'\n"
    "STAT #{cursor} id=2 cnt=10 pid=1 pos=1 obj=87311 "
    "op='TABLE ACCESS BY INDEX ROWID ORDERS (cr=4 pr=1 pw=0 time=262 us cost=4 size=120 card=10)'\n"
    "CLOSE #{cursor}:c=0,e=4,dep=0,type=1,tim={tim}\n"
)
_SESSION_WAITS = (
    (40, 1, "db file sequential read", "file#={small} block#={large} blocks=1 obj#={large}"),
    (15, 1, "direct path read", "file number={small} first dba={large} block cnt=128 obj#={large}"),
    (5, 1, "log file sync", "buffer#={large} sync scn={large} p3=0 obj#=-1"),
    (5, 1, "log file parallel write", "files=1 blocks={small} requests=1 obj#=-1"),
    (5, 20, "resmgr:cpu quantum", "location=2 consumer group id=17623  =0 obj#=-1"),
    (15, 0, "SQL*Net message to client", "driver id=1413697536 #bytes=1 p3=0 obj#=-1"),
    (15, 9, "SQL*Net message from client", "driver id=1413697536 #bytes=1 p3=0 obj#=-1"),
)
"""Weight, length, event, parameters."""


def redo_writer(megabytes: int, seed: int = 1) -> Iterator[bytes]:
    """Yield blocks of a redo writer's trace: writes, each followed by an idle wait four times out of five."""
    return _repeated(b"lgwr", megabytes, random.Random(seed), _writes)


def session(megabytes: int, seed: int = 1) -> Iterator[bytes]:
    """Yield blocks of a session's trace: two lines of five are waits, of seven events."""
    return _repeated(b"ora", megabytes, random.Random(seed), _calls)


def _repeated(
    process: bytes, megabytes: int, chance: random.Random, lines: Callable[[random.Random], Iterator[str]]
) -> Iterator[bytes]:
    yield _HEAD % process
    written = 0
    while written < megabytes * 1_000_000:
        block = "".join(lines(chance)).encode()
        for _ in range(_TIMES):
            yield block
            written += len(block)


def _writes(chance: random.Random) -> Iterator[str]:
    tim = chance.randrange(10**10, 10**11)
    for _ in range(_WAITS):
        elapsed = int(chance.lognormvariate(6.1, 0.5))
        tim += elapsed
        yield (
            f"WAIT #0: nam='log file parallel write' ela= {elapsed} files=1 blocks={chance.randrange(1, 200)} "
            f"requests=1 obj#=-1 tim={tim}\n"
        )
        if chance.random() < 0.8:
            idle = chance.randrange(20, 900)
            tim += idle
            yield f"WAIT #0: nam='LGWR worker group idle' ela= {idle} p1=0 p2=0 p3=0 obj#=-1 tim={tim}\n"


def _calls(chance: random.Random) -> Iterator[str]:
    tim, waits = chance.randrange(10**10, 10**11), 0
    weights = [weight for weight, *_ in _SESSION_WAITS]
    while waits < _WAITS:
        cursor = 139_862_917_562_032 + 1_168 * chance.randrange(40)
        if chance.random() < 0.15:
            yield _STATEMENT.format(cursor=cursor, tim=tim)
        yield _CALL.format(call="PARSE", cursor=cursor, tim=tim)
        if chance.random() < 0.3:
            yield _BINDS.format(cursor=cursor)
        yield _CALL.format(call="EXEC", cursor=cursor, tim=tim)
        for _, length, event, parameters in chance.choices(_SESSION_WAITS, weights, k=chance.randrange(1, 12)):
            elapsed = int(chance.lognormvariate(6.5, 1.0)) * length or 2
            tim += elapsed
            waits += 1
            given = parameters.format(small=chance.randrange(1, 99), large=chance.randrange(4_000_000))
            yield f"WAIT #{cursor}: nam='{event}' ela= {elapsed} {given} tim={tim}\n"
        yield _CALL.format(call="FETCH", cursor=cursor, tim=tim)
        yield _PLAN.format(cursor=cursor, tim=tim)
