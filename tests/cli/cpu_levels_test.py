"""Programs for several CPU levels: the one beside which they lie starts the right one, or says why it cannot."""
import collections, json, os, shutil, subprocess

import pytest

LEVELS = ['base', 'v2', 'v3', 'v4', 'amx']
STAND_IN = '#!/bin/sh\necho "%s: $* $CORTADO_CPU_LEVEL ${ONEDNN_MAX_CPU_ISA-all}"\n'
Levels = collections.namedtuple('Levels', 'folder program own machine')  # the last two: of the program and of this CPU


def call(program, *words, level=None):
    drop = ('CORTADO_CPU_LEVEL', 'ONEDNN_MAX_CPU_ISA', 'GOMP_SPINCOUNT')
    environment = {name: value for name, value in os.environ.items() if name not in drop}
    if level: environment['CORTADO_CPU_LEVEL'] = level
    done = subprocess.run([program, *words], capture_output=True, text=True, env=environment, timeout=60)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def stand_in(folder, level):
    """A program that only prints how it was called, where one for `level` would be."""
    path = folder / level / 'cortado'
    path.parent.mkdir()
    path.write_text(STAND_IN % level)
    path.chmod(0o755)


def refused(program, level, code, word):
    """As a flag and in the environment."""
    for words, variable in ([['devices', '--cpu-level=' + level], None], [['devices'], level]):
        returned, out, complaint = call(program, *words, level=variable)
        assert (returned, out) == (code, '') and word in complaint


@pytest.fixture(scope='module')
def levels(cortado, tmp_path_factory):
    """A copy of the program, beside which tests put others."""
    folder = tmp_path_factory.mktemp('levels')
    program = str(shutil.copy(cortado, folder / 'cortado'))
    cpu = json.loads(call(program, 'devices', '--json')[1])['cpu']
    return Levels(folder, program, LEVELS.index(cpu['level']), LEVELS.index(cpu['machine_level']))


def test_unknown_level_is_refused(levels):
    refused(levels.program, 'v1', 2, 'v2, v3, v4, amx')


def test_lower_level_starts_on_request(levels):
    """A level below our own: first there is none, then one, which a flag in any spelling or the environment starts."""
    folder, program, own, _ = levels
    if own <= 1: pytest.skip('the program is of the lowest level')
    lower = LEVELS[own - 1]
    refused(program, lower, 2, '-DCORTADO_CPU_LEVELS=all')
    stand_in(folder, lower)
    isa = {'v2': 'SSE41', 'v3': 'AVX2', 'v4': 'AVX512_CORE_BF16'}[lower]
    for words in (['devices', '--cpu-level=' + lower], ['--cpu_level', lower, 'devices'], ['-cpu-level', lower, 'x']):
        assert call(program, *words) == (0, '%s: %s %s %s' % (lower, ' '.join(words), lower, isa), '')
    assert call(program, 'devices', level=lower) == (0, '%s: devices %s %s' % (lower, lower, isa), '')
    assert json.loads(call(program, 'devices', '--json')[1])['cpu']['level'] == LEVELS[own]


def test_best_level_of_the_cpu_starts_by_itself(levels):
    """The best level that the CPU has starts without a request; those beyond it never do."""
    folder, program, own, machine = levels
    for level in LEVELS[own + 1:]: stand_in(folder, level)
    out = call(program, 'devices')[1]
    if machine > own: assert out == LEVELS[machine] + ': devices  all'
    else: assert 'level ' + LEVELS[own] in out
    for level in LEVELS[machine + 1:]: refused(program, level, 6, 'above the level of this CPU')


def test_same_program_in_all_folders_starts_once(levels):
    """A folder of a level that holds the same program once more: it does not start for ever."""
    twins = levels.folder / 'twin'
    twins.mkdir()
    twin = shutil.copy(levels.program, twins / 'cortado')
    for level in LEVELS[1:]: (twins / level).symlink_to('.')
    returned, out, _ = call(twin, 'devices', '--json')
    assert (returned, json.loads(out)['cpu']['built_levels']) == (0, LEVELS[1:])
