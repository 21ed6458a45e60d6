"""Output of `cortado help` for shells and man: bash completes commands, flags and values, and groff, if installed,
formats the manual pages without warnings."""
import re, shutil, subprocess

import pytest


@pytest.fixture(scope='module')
def commands(run):
    """The names of all commands."""
    return re.findall(r'^  (\w+) +\S', run('help').stdout.split('\nExamples:')[0], re.M)


@pytest.mark.parametrize('words, expected', [
    (['tr'], ['train']), ([''], None), (['help', 'tra'], ['train']), (['train', '--eng'], ['--engine=']),
    (['train', '--engine', '='], ['shm', 'gloo', 'openmpi', 'mpich']), (['train', '--engine', '=', 'm'], ['mpich']),
    (['train', '--solver', '=', 'so'], ['solver.prototxt']), (['check', 's'], ['solver.prototxt']),
    (['train', '--verb'], ['--verbose']), (['convert', 'id'], ['idx']), (['data', 'sheet', '--at'], ['--at-epoch=']),
    (['convert', 'idx', '--resize'], []), (['convert', 'weights', '--format', '=', 'np'], ['npz'])])
def test_bash_completes(cortado, folder, commands, words, expected):
    (folder / 'solver.prototxt').touch()
    script = '''source <(%s help --completion=bash)
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_cortado
printf '%%s\\n' "${COMPREPLY[@]}"''' % cortado
    done = subprocess.run(['bash', '-c', script, 'bash', 'cortado', *words], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, '')
    assert done.stdout.split() == (commands if expected is None else expected)


def test_zsh_uses_the_completion_of_bash(run):
    zsh = run('help', '--completion=zsh').stdout
    assert 'bashcompinit' in zsh and run('help', '--completion=bash').stdout.split('\n', 1)[1] in zsh


def shown_page(page, name):
    """The manual page as text; None without groff."""
    assert page.startswith('.TH %s 1 ' % name.upper()), page[:80]
    for title in 'NAME', 'SYNOPSIS', 'EXIT STATUS': assert '\n.SH %s\n' % title in page, name
    if not shutil.which('groff'): return None
    done = subprocess.run(['groff', '-man', '-ww', '-Tutf8', '-P-c'], input=page, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ''), name
    return re.sub('.\b', '', done.stdout)  # without the overstrikes of bold letters


def test_manual_pages(run, commands):
    assert 'train' in commands and len(commands) > 15
    shown_page(run('help', '--man').stdout, 'cortado')
    for command in commands:
        shown = shown_page(run('help', '--man', command).stdout, 'cortado-' + command)
        for flag in re.findall(r'^  .{4}(--[\w-]+)', run('help', command).stdout, re.M):
            assert shown is None or flag in shown.replace('\u2010', '-').replace('\u2212', '-'), command
