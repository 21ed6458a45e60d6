"""What the tests of this folder share."""
from tests.cli.training_folder import training_folder
