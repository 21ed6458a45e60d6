"""The program `cortado` that belongs to this module, for what it does with files: pictures, checks, conversions."""
import json
import os
import shutil
import subprocess
import sys


def path():
    """Beside the module, where a build or an installation puts it, or in PATH."""
    here = os.path.dirname(os.path.abspath(__file__))
    for folder in ('', '../../bin', '../../../cortado'):
        found = os.path.join(here, folder, 'cortado')
        if os.path.isfile(found) and os.access(found, os.X_OK):
            return os.path.normpath(found)
    found = shutil.which('cortado')
    if found is None:
        raise _error('the program cortado is neither beside the module nor in PATH')
    return found


def main():
    """The command `cortado` of a wheel: this process becomes the program."""
    os.execv(path(), ['cortado', *sys.argv[1:]])


def check(*files, data=True):
    """What the program's `check` finds in nets and solvers, as its --json says it; mistakes are no exception here."""
    done = _start('check', *(os.fspath(file) for file in files), '--json', *([] if data else ['--no-data']))
    if not done.stdout:
        raise _failure(done)
    return json.loads(done.stdout)


def summary(model, *flags):
    """What the program's `summary` tells of a net: layers, shapes, parameters, FLOPs and memory."""
    return json.loads(run('summary', '--model=' + os.fspath(model), '--json', *flags))


def _start(*arguments):
    return subprocess.run([path(), *arguments], capture_output=True, text=True)


def _failure(done):
    error = _error(done.stderr.strip() or done.stdout.strip())
    error.code = done.returncode
    return error


def _error(words):
    from ._cortado import Error  # which within the program needs this module
    return Error(words)


def run(*arguments):
    """What it prints. Its failures are cortado.Error, with its words and its exit code."""
    done = _start(*arguments)
    if done.returncode != 0:
        raise _failure(done)
    return done.stdout
