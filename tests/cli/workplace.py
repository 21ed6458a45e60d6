"""A training folder, for tests of longer runs."""
import os, shutil, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fixtures

DATA = '''layer { name: "data" type: "Data" top: "data" top: "label" include { phase: TRAIN }
  transform_param { scale: 0.00390625 crop_size: 20 mirror: true }
  data_param { source: "train_lmdb" batch_size: 16 backend: LMDB shuffle: true } }
layer { name: "data" type: "Data" top: "data" top: "label" include { phase: TEST }
  transform_param { scale: 0.00390625 crop_size: 20 }
  data_param { source: "train_lmdb" batch_size: 16 backend: LMDB } }
'''

NET = 'name: "watched"\n' + DATA + '''layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  param { lr_mult: 1 } param { lr_mult: 2 }
  convolution_param { num_output: 12 kernel_size: 5 weight_filler { type: "xavier" } } }
layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool" pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
layer { name: "relu" type: "ReLU" bottom: "pool" top: "pool" }
layer { name: "fc" type: "InnerProduct" bottom: "pool" top: "fc"
  inner_product_param { num_output: 40 weight_filler { type: "xavier" } } }
layer { name: "drop" type: "Dropout" bottom: "fc" top: "fc" dropout_param { dropout_ratio: 0.4 } }
layer { name: "ip" type: "InnerProduct" bottom: "fc" top: "ip"
  inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }
layer { name: "accuracy" type: "Accuracy" bottom: "ip" bottom: "label" top: "accuracy" include { phase: TEST } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
'''

SOLVER = '''net: "net.prototxt"
base_lr: 0.01
momentum: 0.9
weight_decay: 0.0005
lr_policy: "multistep"
gamma: 0.5
stepvalue: 60
stepvalue: 140
max_iter: %(iters)d
display: %(display)d
average_loss: 20
test_iter: 3
test_interval: %(test_interval)d
snapshot: %(snapshot)d
snapshot_prefix: "snap"
random_seed: 7
solver_mode: CPU
'''


class Workplace(tempfile.TemporaryDirectory):
    """A temporary folder with a dataset, a net and a solver."""

    def __init__(self, exe, **options):
        super().__init__()
        self.exe = os.path.abspath(exe)
        bin_folder = self.path('bin')
        os.mkdir(bin_folder)
        os.symlink(self.exe, bin_folder + '/cortado')
        os.environ['PATH'] = bin_folder + ':' + os.environ['PATH']
        here = os.getcwd()
        os.chdir(self.name)
        fixtures.lmdb('train_lmdb', n=300, h=24, w=24)
        os.chdir(here)
        self.write('net.prototxt', NET)
        self.solver(**options)

    def path(self, name): return os.path.join(self.name, name)

    def write(self, name, text):
        with open(self.path(name), 'w') as f: f.write(text)

    def solver(self, iters=200, display=20, test_interval=50, snapshot=100):
        options = dict(iters=iters, display=display, test_interval=test_interval, snapshot=snapshot)
        self.write('solver.prototxt', SOLVER % options)

    def clear(self):
        for name in os.listdir(self.name):
            if name.startswith('snap_before_'): shutil.rmtree(self.path(name))
            elif name.startswith('snap'): os.remove(self.path(name))
