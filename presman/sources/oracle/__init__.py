"""The live source: a database read through python-oracledb."""
