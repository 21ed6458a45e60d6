#!/usr/bin/python3
"""What an installation puts in place works from there: the program, its manual, its helpers, the modules for Python.

    installed.py BUILD SOURCE
"""
import glob, gzip, os, subprocess, sys

build, source = (os.path.abspath(path) for path in sys.argv[1:3])
sys.path.insert(0, source + '/tests/cli')
from workplace import Workplace

place = Workplace(build + '/bin/cortado', iters=4, snapshot=4, test_interval=100)
there = place.path('there')
os.chdir(place.name)

def run(*command, **environment):
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == 0, (command, done.stdout[-2000:] + done.stderr[-2000:])
    return done.stdout

has_modules = bool(glob.glob(build + '/python/cortado/*.so'))
for component in ['program', 'extras'] + ['python'] * has_modules:
    run('cmake', '--install', build, '--prefix', there, '--component', component)

program = there + '/bin/cortado'
assert run(program, '--version').startswith('cortado ')
assert sorted(os.listdir(there + '/lib/cortado/caffe-names'))[0] == 'caffe'
for page in ('cortado', 'cortado-train', 'cortado-help'):
    assert gzip.open(there + '/share/man/man1/%s.1.gz' % page, 'rt').read().startswith('.TH'), page
assert 'cortado' in open(there + '/share/bash-completion/completions/cortado').read()
assert open(there + '/share/zsh/vendor-completions/_cortado').read().startswith('#compdef')
run(program, 'train', '--solver=solver.prototxt')
run(there + '/lib/cortado/caffe-names/caffe', 'time', '-model', 'net.prototxt', '-iterations', '1')
run(program, 'data', 'split', 'train_lmdb', '-o', 'data')
run(program, 'new', 'classifier', '--data=data', '--from=resnet18', '-o', 'my')  # models/ is installed
assert 'num_output: 4 ' in open('my/train_val.prototxt').read()
if os.path.exists(build + '/bin/cortado-hdf5'):
    run(program, 'convert', 'weights', 'snap_iter_4.caffemodel', 'weights.h5')
    assert os.path.getsize('weights.h5') > 0

LOOKS = '''
import caffe, cortado
from cortado import program
assert cortado.__file__.startswith(%r), cortado.__file__
assert program.path() == %r, program.path()
net = caffe.Net('net.prototxt', 'snap_iter_4.caffemodel', caffe.TEST)
net.forward()
net.save('again.h5')
'''
if has_modules:
    run('/usr/bin/python3', '-c', LOOKS % (there, there + '/lib/cortado/cortado'),
        PYTHONPATH=there + '/lib/python3/dist-packages')
print('well')
