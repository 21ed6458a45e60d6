#!/usr/bin/python3
"""Cortado without cortado-leveldb, or with one that crashes, lies, says nothing or does not end: an error each time.

    absent.py CORTADO
"""
import os
import shutil
import stat
import subprocess
import sys
import tempfile

DATUM = r"\010\001\020\001\030\001\042\001x\050\003"  # 1x1x1, "x", label 3


def record(key, value=DATUM, value_bytes=11):
    """A printf of one record as the stream has it."""
    return r"printf '\%03o\0\0\0\0\0\0\0\%03o\0\0\0\0\0\0\0%s%s'" % (len(key), value_bytes, key, value)


def main():
    given = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.mkdir('bin')
        program = os.path.join(folder, 'bin', 'cortado')
        shutil.copy(given, program)  # not a link: the helper is looked for where the program really is
        os.mkdir('level')
        with open('level/CURRENT', 'w') as file:
            file.write('MANIFEST-000004\n')

        def convert():
            return subprocess.run([program, 'convert', 'leveldb', 'level', 'lmdb'], capture_output=True, text=True,
                                  timeout=60)

        def fails(*words, about='level'):
            done = convert()
            assert done.returncode == 4, (done.returncode, done.stderr[-1000:])
            for word in (about + ': error: ', *words):
                assert word in done.stderr, (word, done.stderr[-1000:])
            assert sorted(os.listdir()) == ['bin', 'level'], os.listdir()

        def helper(*lines):
            with open('bin/cortado-leveldb', 'w') as file:
                file.write('\n'.join(('#!/bin/sh', *lines)) + '\n')
            os.chmod('bin/cortado-leveldb', stat.S_IRWXU)

        fails('built without LevelDB', 'hint: apt install libleveldb-dev')
        helper('kill -SEGV $$')
        fails('ended in a crash (Segmentation fault)')
        helper(record('a'), 'kill -SEGV $$')
        fails('ended in a crash (Segmentation fault)')
        helper('kill -XCPU $$')
        fails('does not end')
        helper('echo it is too hot >&2; exit 1')
        fails('it is too hot')
        helper('exit 0')
        fails('there are no samples', about='lmdb')
        helper(record('a') + ' | head -c 20')
        fails('ended too early')
        helper(record('a') + ' | head -c 7')
        fails('ended too early')
        helper(record('b'), record('a'))
        fails('out of order')
        helper(record('a'), record('a'))
        fails('out of order')
        helper('yes | head -c 1000000')
        fails('too long')
        helper(record('a', 'not a Datum', 11))
        fails("record 'a'")
        helper('yes complaint | head -c 1000000 >&2; exit 1')
        fails('complaint')
        with open('bin/cortado-leveldb', 'w') as file:
            file.write('no program')
        os.chmod('bin/cortado-leveldb', stat.S_IRUSR | stat.S_IWUSR)
        fails('cannot be started')

        helper('[ "$1 $2" = "read level" ] || exit 1', record('a'), record('b'))
        done = convert()
        assert done.returncode == 0 and 'lmdb: 2 records, 1x1x1' in done.stdout, (done.stdout, done.stderr)
    print('all were told')


main()
