"""Shared fixtures."""
from tests.cli.training_folder import training_folder
