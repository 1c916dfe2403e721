"""Metrics: databases polled without a screen, and what was read last as a page for Prometheus and for OTLP."""
