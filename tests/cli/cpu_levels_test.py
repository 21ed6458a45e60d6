"""Builds for several CPU levels: the program starts the best one of the folders next to it, or reports an error."""
import collections, json, os, shutil, subprocess

import pytest

LEVELS = ['base', 'v2', 'v3', 'v4', 'amx']
STUB = '#!/bin/sh\necho "%s: $* $CORTADO_CPU_LEVEL ${ONEDNN_MAX_CPU_ISA-all}"\n'
Levels = collections.namedtuple('Levels', 'folder program own machine')  # own: the program's level, machine: the CPU's


def call(program, *words, level=None):
    drop = ('CORTADO_CPU_LEVEL', 'ONEDNN_MAX_CPU_ISA')
    environment = {name: value for name, value in os.environ.items() if name not in drop}
    if level: environment['CORTADO_CPU_LEVEL'] = level
    done = subprocess.run([program, *words], capture_output=True, text=True, env=environment, timeout=60)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def write_stub(folder, level):
    """Writes a program that prints its arguments, in place of the build for `level`."""
    path = folder / level / 'cortado'
    path.parent.mkdir()
    path.write_text(STUB % level)
    path.chmod(0o755)


def refused(program, level, code, word):
    """The level is refused as a flag and in the environment."""
    for words, variable in ([['devices', '--cpu-level=' + level], None], [['devices'], level]):
        returned, out, complaint = call(program, *words, level=variable)
        assert (returned, out) == (code, '') and word in complaint


@pytest.fixture(scope='module')
def levels(cortado, tmp_path_factory):
    """A copy of the program in a folder to which tests add builds."""
    folder = tmp_path_factory.mktemp('levels')
    program = str(shutil.copy(cortado, folder / 'cortado'))
    cpu = json.loads(call(program, 'devices', '--json')[1])['cpu']
    return Levels(folder, program, LEVELS.index(cpu['level']), LEVELS.index(cpu['machine_level']))


def test_unknown_level_is_refused(levels):
    refused(levels.program, 'v1', 2, 'v2, v3, v4, amx')


def test_lower_level_starts_on_request(levels):
    """A flag in any spelling or the environment starts it. Without a build for the level it is an error."""
    folder, program, own, _ = levels
    if own <= 1: pytest.skip('the program is of the lowest level')
    lower = LEVELS[own - 1]
    refused(program, lower, 2, '-DCORTADO_CPU_LEVELS=all')
    write_stub(folder, lower)
    isa = {'v2': 'SSE41', 'v3': 'AVX2', 'v4': 'AVX512_CORE_BF16'}[lower]
    for words in (['devices', '--cpu-level=' + lower], ['--cpu_level', lower, 'devices'], ['-cpu-level', lower, 'x']):
        assert call(program, *words) == (0, '%s: %s %s %s' % (lower, ' '.join(words), lower, isa), '')
    assert call(program, 'devices', level=lower) == (0, '%s: devices %s %s' % (lower, lower, isa), '')
    assert json.loads(call(program, 'devices', '--json')[1])['cpu']['level'] == LEVELS[own]


def test_best_level_of_the_cpu_is_the_default(levels):
    """The best level of the CPU is the default; higher ones are refused."""
    folder, program, own, machine = levels
    for level in LEVELS[own + 1:]: write_stub(folder, level)
    out = call(program, 'devices')[1]
    if machine > own: assert out == LEVELS[machine] + ': devices  all'
    else: assert 'level ' + LEVELS[own] in out
    for level in LEVELS[machine + 1:]: refused(program, level, 6, 'above the level of this CPU')


def test_same_program_in_all_folders_starts_once(levels):
    """Links of all levels to the same program do not make it restart forever."""
    twins = levels.folder / 'twin'
    twins.mkdir()
    twin = shutil.copy(levels.program, twins / 'cortado')
    for level in LEVELS[1:]: (twins / level).symlink_to('.')
    returned, out, _ = call(twin, 'devices', '--json')
    assert (returned, json.loads(out)['cpu']['built_levels']) == (0, LEVELS[1:])
