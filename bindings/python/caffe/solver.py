"""caffe.SGDSolver and the others."""
import os

from google.protobuf import text_format

import cortado

from . import modes
from .nccl import NCCL
from .net import Net
from .proto import caffe_pb2
from .vectors import NetVec


class Solver:
    """A training whose nets may be inspected at any time. `param` is the solver's message, upgraded."""

    _type = None  # any

    def __init__(self, solver_file):
        self._file = os.fsdecode(solver_file)
        self.param = text_format.Parse(cortado.read_solver(self._file), caffe_pb2.SolverParameter())
        self._require_type()
        self._callbacks = []
        self._open('')

    def _require_type(self):
        if self._type is not None and self.param.type.lower() != self._type.lower():
            raise RuntimeError("%s: its type is '%s', not '%s'" % (self._file, self.param.type, self._type))

    def _open(self, snapshot):
        self._solver = cortado.Solver(self._file, snapshot=snapshot, device=modes.device(), observe=True,
                                      keep_updates=True)
        self._solver.on_gradients(self._on_gradients if self._callbacks else None)
        self.net = Net.over(self._solver.net)
        self.test_nets = NetVec(Net.over(net, self.net) for net in self._solver.test_nets)

    @property
    def iter(self):
        return self._solver.iteration

    @property
    def max_iter(self):
        return self.param.max_iter

    @property
    def lr(self):
        return self._solver.rate

    def share_weights(self, net):
        """As Net.share_with() of the training net."""
        self.net.share_with(net)

    def _nets(self):
        return [self.net, *self.test_nets]

    def _train(self, run):
        if any(net.has_callbacks() for net in self._nets()):
            raise NotImplementedError('an iteration of a solver does not stop at layers, so it cannot call the '
                                      'callbacks of its nets; run net.forward() and net.backward() instead')
        return self._run(run)

    def _run(self, run):
        for net in self._nets():
            net._collect()
        try:
            return run()
        finally:
            for net in self._nets():
                net._refresh()

    def step(self, iterations):
        """Trains for some iterations, with the tests and snapshots that are due."""
        if not self._callbacks:
            return self._train(lambda: self._solver.step(iterations))
        for _ in range(iterations):
            for on_start, _ in self._callbacks:
                on_start()
            if not self._train(lambda: self._solver.step(1)):
                return False
        return True

    def apply_update(self):
        """One iteration's update from the gradients of self.net. The script itself calls net.clear_param_diffs(),
        net.forward() and net.backward(), and does tests and snapshots."""
        self._run(self._solver.apply_update)

    def solve(self, resume_file=None):
        """Trains to max_iter, optionally from a .solverstate."""
        if resume_file is not None:
            self.restore(resume_file)
        self._train(self._solver.run)

    def restore(self, state_file):
        """Resumes from a .solverstate. Nets taken from the solver before are detached from it."""
        self._solver.close()
        self._open(os.fsdecode(state_file))

    def snapshot(self):
        self._run(self._solver.snapshot)

    def add_callback(self, on_start, on_gradients_ready=None):
        """Adds functions without arguments, called before each iteration, and between its gradients and its update. A
        single NCCL has nothing to do."""
        if isinstance(on_start, NCCL):
            return
        self._callbacks.append((on_start, on_gradients_ready))
        self._solver.on_gradients(self._on_gradients)

    def _on_gradients(self):
        self.net._refresh()
        for _, on_gradients_ready in self._callbacks:
            on_gradients_ready()
        self.net._collect()


def _of_type(kind):
    return type(kind + 'Solver', (Solver,), {'_type': kind, '__doc__': 'A training with solver type %s.' % kind})


SGDSolver = _of_type('SGD')
NesterovSolver = _of_type('Nesterov')
AdaGradSolver = _of_type('AdaGrad')
RMSPropSolver = _of_type('RMSProp')
AdaDeltaSolver = _of_type('AdaDelta')
AdamSolver = _of_type('Adam')


def get_solver(solver_file):
    """The training of a solver file, of any type."""
    return Solver(solver_file)
