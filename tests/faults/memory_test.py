"""Failed allocations: the k-th only, or the k-th and all later ones, during check and setup of LeNet. The count begins
when the first file is opened, so that allocations before main() are excluded. The program must print an error and
return an exit code; it may neither hang nor end by a signal.

60 allocations of each command fail, or --rounds; with --all 1000, the first 100 and the last 400, which are the
training loop's."""
import os, shutil

import pytest

from tests.cli import fixtures
from tests.faults import programs, shim

CODES = (0, 1, 2, 4, 5, 6, 8)


@pytest.fixture(scope='module')
def begin(place, source, run):
    """A folder with LeNet, its solver and its data."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        fixtures.idx('images', 'labels', n=8, h=28, w=28)
        os.mkdir('data_sets')
        for name in 'train', 'test':
            run('convert', 'idx', 'images', 'labels', '-o', 'data_sets/fashion_mnist_%s_lmdb' % name)
        shutil.copy(source + '/models/lenet/train_val.prototxt', 'net.prototxt')
        with open('solver.prototxt', 'w') as file:
            file.write('net: "net.prototxt" base_lr: 0.01 lr_policy: "fixed" max_iter: 1 random_seed: 1 '
                       'solver_mode: CPU snapshot_after_train: false test_iter: 1 test_interval: 1')
    return place


@pytest.mark.parametrize('words', [('check', 'net.prototxt'), (
    'train', '--solver=solver.prototxt', '--threads=1', '--data-threads=1')], ids=['check', 'setup'])
def test_out_of_memory_is_reported(cortado, begin, every, rounds, inject_all, tmp_path, words):
    log = str(tmp_path / 'count')
    done = shim.run([cortado, *words], begin, under=begin, log=log)
    assert done and done.returncode == 0, programs.tail(done)
    total = int([line for line in shim.read_log(log) if line[0] == 'total'][-1][2])
    chosen = {*range(1, total + 1, max(1, total // (rounds or (1000 if every else 60))))}
    if every: chosen |= {*range(1, min(total, 100) + 1), *range(max(1, total - 400), total + 1)}
    print('%d allocations, %d of them fail' % (total, len(chosen)))
    def inject(_, k, action):
        done = shim.run([cortado, *words], begin, under=begin, rules=['malloc:%d:%s:12' % (k, action)], limit=60)
        assert done is not None, 'the program hangs'
        assert done.returncode in CODES, programs.tail(done)
        assert done.returncode == 0 or done.stderr.strip(), programs.tail(done, 'no error message')
    inject_all(inject, [(k, action) for k in sorted(chosen) for action in ('fail', 'failon')])
