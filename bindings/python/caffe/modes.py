"""pycaffe's global state: the device, the seed, the log."""
import cortado
from cortado import layer_types as layer_type_list

_device = 'cpu'
_gpu = 0
_seed = 1


def set_mode_cpu():
    """New nets and solvers compute on the CPU."""
    global _device
    _device = 'cpu'


def set_mode_gpu():
    """New nets and solvers compute on the GPU of set_device()."""
    global _device
    _device = 'cuda:%d' % _gpu


def set_device(number):
    global _gpu
    _gpu = number
    if _device != 'cpu':
        set_mode_gpu()


def set_random_seed(seed):
    """The seed of fillers of new nets; a solver has its own random_seed."""
    global _seed
    _seed = seed


def device():
    return _device


def seed():
    return _seed


def init_log(level=0, *_):
    """The minimum glog level of lines on standard error."""
    cortado.set_log_level(level)


def log(text):
    import sys
    print(text, file=sys.stderr)
