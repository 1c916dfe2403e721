"""Before the first look: grants, doctor, the script for sites that allow no tools, where a password comes from."""
