"""The live source: a database read with python-oracledb."""
