"""`presman trace`: what the waits in Oracle's extended SQL traces (event 10046) really took.

A V$ histogram knows buckets, a trace knows every wait. The parts, in the order the data takes:
:mod:`~presman.trace.trace_files` (bytes of a trace, packed or not) -> :mod:`~presman.trace.trace_parser` (waits) ->
:mod:`~presman.trace.tally` (figures in bounded memory) -> :mod:`~presman.trace.trace_report`.
"""
