"""Cannot be imported."""
import a_module_that_is_nowhere  # noqa
