"""The module does not change the process: neither glog, if another library uses it, nor signals."""
import subprocess, sys, os

from tests.python.built_module import use_built_module

use_built_module()

CODE = '''
import ctypes, signal, sys
signal.signal(signal.SIGBUS, lambda *_: None)
before = signal.getsignal(signal.SIGBUS)
sys.path.insert(0, sys.argv[1])
import cortado
glog = ctypes.CDLL('libglog.so.1')
level = ctypes.c_int.in_dll(glog, '_ZN3fLI17FLAGS_minloglevelE')
assert level.value == 0, level.value
cortado.set_log_level(0)
with cortado.Solver('solver') as solver: solver.step(1)
glog._ZN6google17InitGoogleLoggingEPKc(b'host')
with cortado.Solver('solver') as solver: solver.step(1)
cortado.set_log_level(2)
assert level.value == 0, level.value
assert signal.getsignal(signal.SIGBUS) is before
libc = ctypes.CDLL(None)
libc.signal.restype = ctypes.c_void_p
mine = libc.signal(int(signal.SIGBUS), None)
with cortado.Solver('solver') as solver: solver.step(1)
assert libc.signal(int(signal.SIGBUS), None) is None
print('alive')
'''
NET = '''layer { name: "data" type: "Data" top: "data" top: "label"
  data_param { source: "train_lmdb" batch_size: 4 backend: LMDB } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 4 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
'''
SOLVER = ('net: "net" base_lr: 0.01 lr_policy: "fixed" max_iter: 9 snapshot_prefix: "snap" random_seed: 1 '
          'solver_mode: CPU')


def test_host(training_folder):
    place = training_folder()
    place.write('net', NET)
    place.write('solver', SOLVER)
    done = subprocess.run([sys.executable, '-c', CODE, os.environ['CORTADO_BUILD'] + '/python'], cwd=place.name,
                          text=True, capture_output=True, timeout=120,
                          env={name: value for name, value in os.environ.items() if not name.startswith('GLOG_')})
    assert done.returncode == 0 and done.stdout == 'alive\n', done.stderr[-3000:]
    assert 'Solver scaffolding done.' in done.stderr
