"""For scripts that need what build/test-venv has: the same script, run by its Python."""
import os, sys

def enter(venv):
    """Where there is none, the test is skipped."""
    if sys.prefix == venv: return
    if not os.path.exists(venv + '/complete'):
        print('skipped: there is no', venv)
        sys.exit(77)
    os.execv(venv + '/bin/python', [venv + '/bin/python', *sys.argv])
