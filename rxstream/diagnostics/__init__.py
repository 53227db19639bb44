"""Where protected detail goes, and what of it may be kept: the stores and the redaction policy."""

from rxstream.diagnostics.file_store import FileDiagnostics
from rxstream.diagnostics.policy import RedactionPolicy, redact_secrets
from rxstream.diagnostics.store import DiagnosticRecord, Diagnostics

__all__ = ("DiagnosticRecord", "Diagnostics", "FileDiagnostics", "RedactionPolicy", "redact_secrets")
