"""Analysis: two snapshots make a reading. Pure: no I/O, no clock, nothing but the standard library and XML."""
