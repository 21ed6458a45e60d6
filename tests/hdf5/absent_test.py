"""Cortado without cortado-hdf5, or with one that crashes, sends wrong data or none, or hangs: each is an error."""
import shutil

import pytest

from tests.hdf5.rows import write_rows

NET = '''layer { name: "in" type: "HDF5Data" top: "data" top: "label"
  hdf5_data_param { source: "list.txt" batch_size: 4 } }
layer { name: "none" type: "Silence" bottom: "data" bottom: "label" }'''

OUTPUT = '''layer { name: "in" type: "DummyData" top: "a" top: "b" dummy_data_param { shape { dim: 4 } } }
layer { name: "out" type: "HDF5Output" bottom: "a" bottom: "b" hdf5_output_param { file_name: "out.h5" } }'''

HEAD = r'''{"data":{"dtype":"F32","shape":[%s],"data_offsets":[0,%d]}}'''


def liar(shape, offsets, length=None):
    head = HEAD % (shape, offsets)
    return r"printf '\%03o\0\0\0\0\0\0\0%s'" % (length or len(head), head)


@pytest.fixture(scope='module')
def program(cortado, shared_folder):
    """A copy of the program without its helper, in a folder with data. Not a link, because the program searches the
    helper in its real folder."""
    (shared_folder / 'bin').mkdir()
    write_rows('rows.h5', 1, 20)
    (shared_folder / 'list.txt').write_text('rows.h5\n')
    (shared_folder / 'net.prototxt').write_text(NET)
    (shared_folder / 'output.prototxt').write_text(OUTPUT)
    return shutil.copy(cortado, shared_folder / 'bin')


@pytest.fixture
def fails(program, run, shared_folder):
    """fails(4, 'a word', script='exit 1') runs a net with this script as the helper, and expects the exit code and the
    words."""
    helper = shared_folder / 'bin/cortado-hdf5'
    def fails(code, *words, script=None, model='net.prototxt', mode=0o700):
        if script:
            helper.write_text(script)
            helper.chmod(mode)
        said = run('test', '--model=' + model, '--iterations=3', program=program, code=code).stderr
        for word in words: assert word in said
    yield fails
    helper.unlink(missing_ok=True)


def test_without_the_helper_errors_say_what_to_install(fails):
    fails(4, 'rows.h5', 'built without HDF5', 'hint: apt install libhdf5-dev')
    fails(5, 'out.h5', 'built without HDF5', model='output.prototxt')


def test_check_reports_snapshots_in_hdf5(program, run, shared_folder):
    (shared_folder / 'solver.prototxt').write_text(
        'net: "net.prototxt" base_lr: 1 lr_policy: "fixed" max_iter: 1 snapshot_format: HDF5')
    done = run('check', '--no-data', 'solver.prototxt', program=program, code=3)
    assert 'snapshot_format' in done.stderr + done.stdout


@pytest.mark.parametrize('script, words', [
    ('kill -SEGV $$', ['rows.h5', 'crashed (Segmentation fault)']),
    ('kill -XCPU $$', ['exceeded the CPU time limit']),
    ('exit 0', ['exited before the end']),
    ('echo it is too hot >&2; exit 1', ['rows.h5', 'it is too hot']),
    ('printf "caf\\303\\251 \\341\\377 \\033[1m end" >&2; exit 1', ['café ??  [1m end']),
    ('yes | head -c 1000000', ['too long']),
    ('yes complaint | head -c 1000000 >&2; exit 1', ['complaint']),
    ('printf "\\005\\0\\0\\0\\0\\0\\0\\0hello"', ['invalid tensor header']),
    (liar('20,2,3', 480), ['rows.h5']),  # without the label
    (liar('4611686018427387904,4', 480), ['rows.h5']),
    (liar('9999999999999', 39999999999996), ['the limit for its size']),
])
def test_bad_helper_of_a_reader(fails, script, words):
    fails(4, *words, script='#!/bin/sh\n' + script + '\n')


@pytest.mark.parametrize('script, words', [('kill -SEGV $$', ['out.h5', 'crashed (Segmentation fault)']),
                                           ('exit 0', ['exited before the end'])])
def test_bad_helper_of_a_writer(fails, script, words):
    fails(5, *words, script='#!/bin/sh\n' + script + '\n', model='output.prototxt')


def test_helper_that_is_not_executable(fails):
    fails(4, 'cannot be started', script='no program', mode=0o600)
