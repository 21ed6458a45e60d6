"""Ctrl-C while Python runs: a snapshot, exit code 130, and atexit functions of modules."""
import os, signal, subprocess

import pytest

NET = '''layer { name: "data" type: "Python" top: "x" top: "y" python_param { module: "slow" layer: "Data" } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip"
  inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "y" top: "loss" }
'''
SOLVER = 'net: "net" base_lr: 0.01 lr_policy: "fixed" max_iter: 100000 display: 1 snapshot_prefix: "snap"\n'
MODULE = '''import atexit, multiprocessing, signal, subprocess, threading, time
import caffe

class Data(caffe.Layer):
    def setup(self, bottom, top):
        atexit.register(print, 'the module is done')
        threading.Thread(target=self.idle, daemon=True).start()
        self.fork()
        subprocess.run(['true'], check=True)

    def fork(self):
        self.child = multiprocessing.Process(target=self.idle, daemon=True)
        self.child.start()

    def idle(self):
        while True:
            time.sleep(0.001)

    def reshape(self, bottom, top):
        top[0].reshape(4, 3)
        top[1].reshape(4, 2)

    def forward(self, bottom, top):
        if self.child:  # again while the training runs
            self.fork()
            self.child = None
        time.sleep(0.02)
        top[0].data[...] = 1

    def backward(self, top, propagate_down, bottom):
        pass
'''


@pytest.mark.parametrize('number, code', [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_stops_training_with_a_snapshot(cortado, folder, helper, number, code):
    helper('libcortado_python.so')
    for name, text in (('net', NET), ('solver', SOLVER), ('slow.py', MODULE)): (folder / name).write_text(text)
    run = subprocess.Popen([cortado, 'train', '--solver=solver'], stderr=subprocess.PIPE, text=True,
                           start_new_session=True)
    log = ''
    for line in run.stderr:
        log += line
        if 'Iteration 5,' in line: break
    if number == signal.SIGINT:
        os.killpg(run.pid, number)  # like a terminal
    else:
        run.send_signal(number)
    log += run.communicate(timeout=20)[1]
    assert run.returncode == code, log[-2000:]
    assert 'Optimization stopped early.' in log and 'the module is done' in log, log[-2000:]
    assert list(folder.glob('*.solverstate'))
    assert log.count('stopping after this iteration') == 1, log[-2000:]
    assert 'KeyboardInterrupt' not in log, log[-2000:]
