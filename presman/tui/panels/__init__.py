"""The tabs: one module for each."""
