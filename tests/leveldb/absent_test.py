"""Cortado without cortado-leveldb, or with one that crashes, sends wrong data or none, or hangs: each is an error."""
import os, shutil

import pytest

DATUM = r"\010\001\020\001\030\001\042\001x\050\003"  # 1x1x1, "x", label 3


def record(key, value=DATUM, value_bytes=11):
    """A printf command that writes one record of the stream."""
    return r"printf '\%03o\0\0\0\0\0\0\0\%03o\0\0\0\0\0\0\0%s%s'" % (len(key), value_bytes, key, value)


@pytest.fixture
def program(cortado, folder):
    """A copy of the program without its helper; not a link, because the program searches the helper in its real
    folder."""
    (folder / 'bin').mkdir()
    (folder / 'level').mkdir()
    (folder / 'level/CURRENT').write_text('MANIFEST-000004\n')
    return shutil.copy(cortado, 'bin')


@pytest.fixture
def convert(run, program):
    """convert('exit 1') runs the program with this script as its helper."""
    def convert(script=None, code=4, mode=0o700):
        if script:
            with open('bin/cortado-leveldb', 'w') as file: file.write(script)
            os.chmod('bin/cortado-leveldb', mode)
        return run('convert', 'leveldb', 'level', 'lmdb', program=os.path.abspath(program), code=code, timeout=60)
    return convert


def refuses(convert, *words, about='level', **options):
    said = convert(**options).stderr
    for word in (about + ': error: ', *words): assert word in said
    assert sorted(os.listdir()) == ['bin', 'level']


def test_without_the_helper_the_error_says_what_to_install(convert):
    refuses(convert, 'built without LevelDB', 'hint: apt install libleveldb-dev')


@pytest.mark.parametrize('lines, word', [
    (['kill -SEGV $$'], 'crashed (Segmentation fault)'),
    ([record('a'), 'kill -SEGV $$'], 'crashed (Segmentation fault)'),
    (['kill -XCPU $$'], 'exceeded the CPU time limit'),
    (['echo it is too hot >&2; exit 1'], 'it is too hot'),
    ([record('a') + ' | head -c 20'], 'ended too early'),
    ([record('a') + ' | head -c 7'], 'ended too early'),
    ([record('b'), record('a')], 'out of order'),
    ([record('a'), record('a')], 'out of order'),
    (['yes | head -c 1000000'], 'too long'),
    ([record('a', 'not a Datum', 11)], "record 'a'"),
    (['yes complaint | head -c 1000000 >&2; exit 1'], 'complaint'),
])
def test_bad_helper(convert, lines, word):
    refuses(convert, word, script='\n'.join(('#!/bin/sh', *lines)) + '\n')


def test_helper_without_records(convert):
    refuses(convert, 'no samples to convert', about='lmdb', script='#!/bin/sh\nexit 0\n')


def test_helper_that_is_not_executable(convert):
    refuses(convert, 'cannot be started', script='no program', mode=0o600)


def test_records_of_the_helper_are_converted(convert):
    lines = '#!/bin/sh', '[ "$1 $2" = "read level" ] || exit 1', record('a'), record('b')
    assert 'lmdb: 2 records, 1x1x1' in convert('\n'.join(lines) + '\n', code=0).stdout
