"""pycaffe's interface over Cortado, for scripts and notebooks that were written for it (docs/python.md)."""
from cortado import __version__

from . import coord_map, draw, io
from .classifier import Classifier
from .detector import Detector
from .modes import (has_nccl, init_log, layer_type_list, log, set_device, set_mode_cpu, set_mode_gpu, set_random_seed,
                    solver_count, solver_rank)
from .net import TEST, TRAIN, Net
from .net_spec import NetSpec, layers, params, to_proto
from .python_layer import Layer
from .solver import (AdaDeltaSolver, AdaGradSolver, AdamSolver, NesterovSolver, RMSPropSolver, SGDSolver, Solver,
                     get_solver)
from .timer import Timer
