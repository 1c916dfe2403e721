"""Rows about cursors: texts, plans, OTHER_XML, totals."""

from typing import NamedTuple


class PlanXml(NamedTuple):
    """GV$SQL_PLAN.OTHER_XML of one cursor, read once per (instance, sql_id, child)."""

    inst_id: int
    sql_id: str
    child_number: int
    other_xml: str


class SqlText(NamedTuple):
    """GV$SQL: the text of one cursor, read once per (instance, sql_id, child).

    `sql_text` is "" where V$SQL has no such cursor any more: it has been aged out. A statement without a row has not
    been looked up.
    """

    inst_id: int
    sql_id: str
    child_number: int
    sql_text: str


class PlanLine(NamedTuple):
    """GV$SQL_PLAN: one line of the execution plan of a cursor.

    `object_node` is the table queue (:Qnnnnn) the line works for, `other_tag` how it passes rows on, `distribution` the
    method that distributes them. `time` is the optimizer's estimate in seconds.
    """

    inst_id: int
    sql_id: str
    child_number: int
    plan_hash_value: int
    id: int
    depth: int
    operation: str
    options: str
    object_node: str
    object_name: str
    other_tag: str
    distribution: str
    cost: int | None
    cardinality: int | None
    bytes: int | None
    time: int | None
    partition_start: str
    partition_stop: str
    access_predicates: str
    filter_predicates: str


class PxPlanLine(NamedTuple):
    """GV$SQL_PLAN: the lines of parallel servers and coordinators, and the topmost lines, read once per cursor.

    `object_node` is the table queue (:Qnnnnn): its last three digits identify the data flow operation, those before
    them its tree.
    """

    inst_id: int
    sql_id: str
    child_number: int
    id: int
    depth: int
    operation: str
    options: str
    object_node: str


class CursorTotals(NamedTuple):
    """GV$SQL: totals over all executions of a cursor; None: the column is missing. Times in microseconds."""

    inst_id: int
    sql_id: str
    child_number: int
    plan_hash_value: int
    executions: int | None
    px_servers_executions: int | None
    elapsed_time: int | None
    cpu_time: int | None
    user_io_wait_time: int | None
    concurrency_wait_time: int | None
    buffer_gets: int | None
    disk_reads: int | None
    rows_processed: int | None
    physical_read_bytes: int | None
    physical_write_bytes: int | None
    io_cell_offload_eligible_bytes: int | None
    io_interconnect_bytes: int | None
    users_executing: int | None
