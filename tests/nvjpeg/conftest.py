"""Shared fixtures."""
from tests.cli.training_folder import shared_folder
