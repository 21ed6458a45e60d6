#!/usr/bin/python3
"""Cortado without cortado-hdf5, or with one that crashes, lies, says nothing or does not end: an error each time."""
import os
import shutil
import stat

from workplace import Workplace, write, write_rows

NET = '''layer { name: "in" type: "HDF5Data" top: "data" top: "label"
  hdf5_data_param { source: "list.txt" batch_size: 4 } }
layer { name: "none" type: "Silence" bottom: "data" bottom: "label" }'''

OUTPUT = '''layer { name: "in" type: "DummyData" top: "a" top: "b" dummy_data_param { shape { dim: 4 } } }
layer { name: "out" type: "HDF5Output" bottom: "a" bottom: "b" hdf5_output_param { file_name: "out.h5" } }'''

HEAD = r'''{"data":{"dtype":"F32","shape":[%s],"data_offsets":[0,%d]}}'''


def liar(shape, offsets, length=None):
    head = HEAD % (shape, offsets)
    return r"printf '\%03o\0\0\0\0\0\0\0%s'" % (length or len(head), head)


def main():
    place = Workplace()
    os.mkdir('bin')
    program = os.path.join(os.getcwd(), 'bin', 'cortado')
    shutil.copy(place.program, program)  # not a link: the helper is looked for where the program really is
    write_rows('rows.h5', 1, 20)
    write('list.txt', 'rows.h5\n')
    write('net.prototxt', NET)
    write('output.prototxt', OUTPUT)
    write('text.txt', 'text.h5\n')
    write('text.h5', 'not HDF5')

    def fails(code, *words, model='net.prototxt'):
        done = place.run('test', '--model=' + model, '--iterations=3', program=program)
        assert done.returncode == code, (code, done.returncode, done.stderr[-1000:])
        for word in words:
            assert word in done.stderr, (word, done.stderr[-1000:])

    def helper(script):
        write('bin/cortado-hdf5', '#!/bin/sh\n' + script + '\n')
        os.chmod('bin/cortado-hdf5', stat.S_IRWXU)

    fails(4, 'rows.h5', 'built without HDF5', 'hint: apt install libhdf5-dev')
    fails(5, 'out.h5', 'built without HDF5', model='output.prototxt')
    write('solver.prototxt', 'net: "net.prototxt" base_lr: 1 lr_policy: "fixed" max_iter: 1 snapshot_format: HDF5')
    done = place.run('check', '--no-data', 'solver.prototxt', program=program)
    assert done.returncode == 3 and 'snapshot_format' in done.stderr + done.stdout, done

    helper('kill -SEGV $$')
    fails(4, 'rows.h5', 'ended in a crash (Segmentation fault)')
    fails(5, 'out.h5', 'ended in a crash (Segmentation fault)', model='output.prototxt')
    helper('kill -XCPU $$')
    fails(4, 'does not end')
    helper('exit 0')
    fails(4, 'ended too early')
    fails(5, 'ended too early', model='output.prototxt')
    helper('echo it is too hot >&2; exit 1')
    fails(4, 'rows.h5', 'it is too hot')
    helper('printf "caf\\303\\251 \\341\\377 \\033[1m end" >&2; exit 1')
    fails(4, 'café ??  [1m end')
    helper('yes | head -c 1000000')
    fails(4, 'too long')
    helper('yes complaint | head -c 1000000 >&2; exit 1')
    fails(4, 'complaint')
    helper('printf "\\005\\0\\0\\0\\0\\0\\0\\0hello"')
    fails(4, 'not what it should be')
    helper(liar('20,2,3', 480))
    fails(4, 'rows.h5')  # and it lacks the label, too
    helper(liar('4611686018427387904,4', 480))
    fails(4, 'rows.h5')
    helper(liar('9999999999999', 39999999999996))
    fails(4, 'more than a file of its size should hold')
    write('bin/cortado-hdf5', 'no program')
    os.chmod('bin/cortado-hdf5', stat.S_IRUSR | stat.S_IWUSR)
    fails(4, 'cannot be started')
    print('all were told')


main()
