"""The modules read a project whose paths are relative to its folder, from another folder."""
import cv2, numpy, pytest

from tests.python.built_module import use_built_module

use_built_module()
import caffe, cortado


@pytest.fixture
def project(run, tmp_path, monkeypatch):
    for i in range(8):
        for k, name in enumerate('ab'):
            path = tmp_path / 'photos' / name / ('%d.png' % i)
            path.parent.mkdir(parents=True, exist_ok=True)
            cv2.imwrite(str(path), numpy.full((20, 20, 3), 20 * i + 90 * k, numpy.uint8))
    run('convert', 'folder', 'photos', '-o', 'data', '--split=0.5', cwd=tmp_path)
    run('new', 'classifier', '--data=data', '--from=lenet', '-o', 'first', '--epochs=1', cwd=tmp_path)
    (tmp_path / 'far/away').mkdir(parents=True)
    monkeypatch.chdir(tmp_path / 'far/away')
    return tmp_path / 'first'


def test_solvers_and_nets_follow_the_project(project):
    copy = project.rename(project.parent / 'second')
    with cortado.Solver('../../second/solver.prototxt') as solver: solver.step(1)
    solver = caffe.SGDSolver('../../second/solver.prototxt')
    solver.step(1)
    solver.snapshot()
    assert list((copy / 'snapshots').glob('first_iter_*.caffemodel'))
    assert not list((project.parent / 'far').rglob('*.*'))
    net = caffe.Net('../../second/train_val.prototxt', caffe.TEST)
    net.forward()
    assert net.blobs['data'].data.shape[1] == 3
