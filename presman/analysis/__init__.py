"""Analysis: two snapshots make a reading. Pure: no I/O, no clock, only the standard library and XML."""
