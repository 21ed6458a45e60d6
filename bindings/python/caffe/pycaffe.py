"""caffe.pycaffe: where pycaffe has its nets and solvers."""
from collections import OrderedDict

import numpy as np

from . import _caffe
from .nccl import NCCL
from .net import Net
from .solver import (AdaDeltaSolver, AdaGradSolver, AdamSolver, NesterovSolver, RMSPropSolver, SGDSolver)
from .timer import Timer
