"""Runs the transcript."""
from tests.cli.transcripts import pytest_collect_file
