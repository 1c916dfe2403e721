"""The screens of the live monitor."""
