"""Before the first look: grants, doctor, the script for sites that let no tool in, where a password comes from."""
