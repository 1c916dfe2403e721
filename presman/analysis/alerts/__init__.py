"""Alerts: problems of a database, as rules on a Reading that screens, texts and files share."""
