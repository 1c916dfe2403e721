"""Alerts: what is wrong with a database, as rules on a Reading that screens, texts and files share."""
