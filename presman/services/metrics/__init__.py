"""Metrics of databases polled without a screen: the latest poll as a page for Prometheus and as OTLP."""
