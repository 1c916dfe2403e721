"""`presman trace`: the true durations of the waits in Oracle's extended SQL traces (event 10046).

A V$ histogram has only buckets, a trace has every wait. The modules, in the order of the data flow:
:mod:`~presman.trace.trace_files` (bytes of a trace, compressed or not) -> :mod:`~presman.trace.trace_parser` (waits) ->
:mod:`~presman.trace.tally` (figures in bounded memory) -> :mod:`~presman.trace.trace_report`.
"""
