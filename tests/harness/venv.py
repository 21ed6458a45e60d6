"""Packages from PyPI, in the venv that scripts/dev/test_venv.sh creates in the build folder."""
import glob, os, sys


def use_venv():
    """Adds the venv's packages before the system's. Call it before pytest.importorskip()."""
    venv = os.path.join(os.environ['CORTADO_BUILD'], 'test-venv')
    if os.path.exists(venv + '/complete'): sys.path[:0] = glob.glob(venv + '/lib/python3*/site-packages')
