#!/usr/bin/env python3
"""Programs for several CPU levels: the one beside which they lie starts the right one, or says why it cannot.

    cpu_levels.py CORTADO
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

LEVELS = ['base', 'v2', 'v3', 'v4', 'amx']
STAND_IN = '#!/bin/sh\necho "%s: $* $CORTADO_CPU_LEVEL ${ONEDNN_MAX_CPU_ISA-all}"\n'


def call(program, *words, level=None):
    drop = ('CORTADO_CPU_LEVEL', 'ONEDNN_MAX_CPU_ISA', 'GOMP_SPINCOUNT')
    environment = {name: value for name, value in os.environ.items() if name not in drop}
    if level:
        environment['CORTADO_CPU_LEVEL'] = level
    done = subprocess.run([program, *words], capture_output=True, text=True, env=environment, timeout=60)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def expect(what, seen, wanted):
    if seen != wanted:
        sys.exit('%s: %r instead of %r' % (what, seen, wanted))


def stand_in(folder, level):
    """A program that only tells how it was called, where one for `level` would be."""
    path = '%s/%s/cortado' % (folder, level)
    os.makedirs(os.path.dirname(path))
    with open(path, 'w') as file:
        file.write(STAND_IN % level)
    os.chmod(path, 0o755)


def refused(program, level, code, word):
    """As a flag and in the environment."""
    for words, variable in ([['devices', '--cpu-level=' + level], None], [['devices'], level]):
        returned, out, complaint = call(program, *words, level=variable)
        expect('exit code for level ' + level, returned, code)
        expect('output for level ' + level, out, '')
        if word not in complaint:
            sys.exit('level %s: %r does not say %r' % (level, complaint, word))


def check_lower(program, folder, own):
    """A level below our own: first there is none, then one, which a flag in any spelling or the environment starts."""
    lower = LEVELS[own - 1]
    refused(program, lower, 2, '-DCORTADO_CPU_LEVELS=all')
    stand_in(folder, lower)
    isa = {'v2': 'SSE41', 'v3': 'AVX2', 'v4': 'AVX512_CORE_BF16'}[lower]
    for words in (['devices', '--cpu-level=' + lower], ['--cpu_level', lower, 'devices'], ['-cpu-level', lower, 'x']):
        told = '%s: %s %s %s' % (lower, ' '.join(words), lower, isa)
        expect('a lower level', call(program, *words), (0, told, ''))
    expect('the environment', call(program, 'devices', level=lower), (0, '%s: devices %s %s' % (lower, lower, isa), ''))
    expect('no wish', json.loads(call(program, 'devices', '--json')[1])['cpu']['level'], LEVELS[own])


def check_higher(program, folder, own, machine):
    """The best level that the CPU has is taken without being asked for; those beyond it never are."""
    for level in LEVELS[own + 1:]:
        stand_in(folder, level)
    told = call(program, 'devices')[1]
    if machine > own:
        expect('the best level', told, LEVELS[machine] + ': devices  all')
    else:
        expect('levels beyond this CPU', 'level ' + LEVELS[own] in told, True)
    for level in LEVELS[machine + 1:]:
        refused(program, level, 6, 'beyond this CPU')


def check_twin(program, folder, own):
    """A folder of a level that holds the same program once more: it is not started for ever."""
    os.makedirs(folder + '/twin')
    twin = shutil.copy(program, folder + '/twin/cortado')
    for level in LEVELS[1:]:
        os.symlink('.', '%s/twin/%s' % (folder, level))
    returned, out, _ = call(twin, 'devices', '--json')
    expect('a program in all folders', (returned, json.loads(out)['cpu']['built_levels']), (0, LEVELS[1:]))


def main():
    with tempfile.TemporaryDirectory() as folder:
        program = shutil.copy(sys.argv[1], folder + '/cortado')
        cpu = json.loads(call(program, 'devices', '--json')[1])['cpu']
        own, machine = LEVELS.index(cpu['level']), LEVELS.index(cpu['machine_level'])
        refused(program, 'v1', 2, 'v2, v3, v4, amx')
        if own > 1:
            check_lower(program, folder, own)
        check_higher(program, folder, own, machine)
        check_twin(program, folder, own)


main()
