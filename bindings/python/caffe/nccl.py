"""caffe.NCCL: for scripts that start a process for each GPU, with a single one."""
import uuid

_ONE = 'a script trains in one process; for several see `cortado train --gpu=0,1` and docs/scaling.md'


class NCCL:
    """The only process of a training has nothing to exchange."""

    def __init__(self, solver, uid):
        self.solver, self.uid = solver, uid

    @staticmethod
    def new_uid():
        return uuid.uuid4().hex

    def bcast(self):
        pass

    broadcast = bcast


def has_nccl():
    return False


def solver_count():
    return 1


def set_solver_count(count):
    if count != 1:
        raise NotImplementedError(_ONE)


def solver_rank():
    return 0


def set_solver_rank(rank):
    if rank != 0:
        raise NotImplementedError(_ONE)


def set_multiprocess(several):
    """Without effect: whether solvers are of several processes or of one, there is one."""
