"""The program `cortado` that belongs to this module: checks, summaries, conversions, pictures."""
import json
import os
import shutil
import subprocess
import sys


def path():
    """Its path: next to the module, as a build or an installation places it, or in PATH."""
    here = os.path.dirname(os.path.abspath(__file__))
    for folder in ('', '../../bin', '../../../cortado'):
        found = os.path.join(here, folder, 'cortado')
        if os.path.isfile(found) and os.access(found, os.X_OK):
            return os.path.normpath(found)
    found = shutil.which('cortado')
    if found is None:
        raise _error('cannot find the program cortado next to the module or in PATH')
    return found


def main():
    """The command `cortado` of a wheel: executes the program in this process."""
    os.execv(path(), ['cortado', *sys.argv[1:]])


def check(*files, data=True):
    """The result of `cortado check --json` for nets and solvers. Errors in the files do not raise an exception."""
    done = _start('check', *(os.fspath(file) for file in files), '--json', *([] if data else ['--no-data']))
    if not done.stdout:
        raise _failure(done)
    return json.loads(done.stdout)


def summary(model, *flags):
    """The result of `cortado summary --json` for a net: layers, shapes, parameters, FLOPs and memory."""
    return json.loads(run('summary', '--model=' + os.fspath(model), '--json', *flags))


def _start(*arguments):
    return subprocess.run([path(), *arguments], capture_output=True, text=True)


def _failure(done):
    error = _error(done.stderr.strip() or done.stdout.strip())
    error.code = done.returncode
    return error


def _error(words):
    from ._cortado import Error  # a circular import within the program
    return Error(words)


def run(*arguments):
    """Runs the program and returns its output. Raises cortado.Error with its message and exit code."""
    done = _start(*arguments)
    if done.returncode != 0:
        raise _failure(done)
    return done.stdout
