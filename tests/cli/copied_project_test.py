"""What `new` writes can be copied, renamed and moved together with its data: every command then reads and writes the
copy, from any folder. And it can be trained, whatever the number of images, epochs and the batch."""
import json, pathlib, re, shutil

import cv2, numpy, pytest


def make_photos(folder, count):
    draws = numpy.random.RandomState(1)
    for i in range(count):
        for k, name in enumerate(('ant', 'bee')):
            path = folder / name / ('%d.png' % i)
            path.parent.mkdir(parents=True, exist_ok=True)
            noise = draws.randint(0, 30, (20, 20, 3))
            cv2.imwrite(str(path), numpy.full((20, 20, 3), 60 + 120 * k, numpy.uint8) + noise)


def files_of(folder): return {path: path.stat().st_mtime_ns for path in folder.rglob('*') if path.is_file()}


@pytest.fixture(scope='module')
def workplace(tmp_path_factory, run):
    """A folder with a dataset and the trained project `first`, under a new name."""
    place = tmp_path_factory.mktemp('original')
    make_photos(place / 'photos', 12)
    run('convert', 'folder', 'photos', '-o', 'data', '--split=0.5', cwd=place)
    run('new', 'classifier', '--data=data', '--from=lenet', '-o', 'first', '--epochs=2', cwd=place)
    run('train', 'first/solver.prototxt', cwd=place)
    return pathlib.Path(shutil.move(place, str(place) + '_moved'))


@pytest.fixture
def copies(workplace, tmp_path):
    """Folders below which the copy works: (the current folder of the command, the copied project from there)."""
    shutil.copytree(workplace, tmp_path / 'place')
    (tmp_path / 'place/first').rename(tmp_path / 'place/second')
    (tmp_path / 'far/away').mkdir(parents=True)
    return [(tmp_path / 'place', 'second/'), (tmp_path / 'place/second', ''),
            (tmp_path / 'far/away', '../../place/second/'), (tmp_path / 'far', str(tmp_path / 'place/second') + '/')]


def test_nothing_is_absolute(workplace):
    for name in ('train_val.prototxt', 'deploy.prototxt', 'solver.prototxt'):
        text = (workplace / 'first' / name).read_text()
        assert not re.search(r'"/', text) and str(workplace)[:-len('_moved')] not in text, text
    assert 'snapshot_prefix: "snapshots/first"' in (workplace / 'first/solver.prototxt').read_text()


def test_a_copy_trains_into_itself(run, workplace, copies):
    before = files_of(workplace)
    for cwd, project in copies:
        snapshots = cwd / project / 'snapshots'
        shutil.rmtree(snapshots, ignore_errors=True)
        run('train', project + 'solver.prototxt', cwd=cwd)
        assert (snapshots / 'first_best.caffemodel').exists()
        run('train', project + 'solver.prototxt', '--set', 'solver.snapshot_prefix=others/x', cwd=cwd)
        assert (cwd / project / 'others/x_best.caffemodel').exists(), 'a path of --set counts as if it were in the file'
        shutil.rmtree(cwd / project / 'others')
    assert files_of(workplace) == before
    assert not any(path.is_file() for path in (copies[2][0].parent).rglob('*')), 'nothing where the program ran'


def test_commands_follow_a_copy(run, copies):
    for cwd, project in copies:
        net, solver = project + 'train_val.prototxt', project + 'solver.prototxt'
        weights = project + 'snapshots/first_best.caffemodel'
        run('check', solver, net, cwd=cwd)
        run('test', net, weights, '--epoch', cwd=cwd)
        run('summary', net, cwd=cwd)
        run('plan', net, cwd=cwd)
        run('time', net, '--iterations=2', cwd=cwd)
        run('deploy', net, '-o', 'again.prototxt', '--force', cwd=cwd)
        run('data', 'sheet', net, '-o', 'sheet.png', '--force', cwd=cwd)
        run('data', 'bench', net, '--seconds=0.2', cwd=cwd)
        run('classify', project + 'deploy.prototxt', weights, '../place/photos/ant/1.png' if project == 'second/' else
            str(copies[0][0] / 'photos/ant/1.png'), cwd=cwd)


def test_a_run_of_a_copy(run, copies):
    cwd, project = copies[2]
    run('train', project + 'solver.prototxt', '--run=r', cwd=cwd)
    record = json.loads((cwd / 'r/run.json').read_text())
    paths = [one['path'] for one in record['inputs']]
    assert not [path for path in paths if '/second/..' in path], 'two runs of one dataset name it the same'
    assert {(cwd / one['path']).resolve() for one in record['inputs'] if one['kind'] == 'data'} == {
        (copies[0][0] / ('data/%s_lmdb' % part)).resolve() for part in ('train', 'test')}
    run('train', '--resume=r', '--set', 'solver.max_epoch=3', cwd=cwd)
    run('test', 'r', '--epoch', cwd=cwd)
    run('runs', 'best', cwd=cwd)


def test_upgrade_and_tune_keep_the_meaning(run, copies):
    cwd, project = copies[0]
    (cwd / 'deep/er').mkdir(parents=True)
    for name in ('solver.prototxt', 'train_val.prototxt'):
        run('upgrade', project + name, 'deep/er/' + name, cwd=cwd)
    text = (cwd / 'deep/er/train_val.prototxt').read_text()
    assert 'relative_to_file: true' in text and '"../../data/train_lmdb"' in text
    run('check', 'deep/er/solver.prototxt', 'deep/er/train_val.prototxt', cwd=cwd)
    assert 'snapshot_prefix: "../../second/snapshots/first"' in (cwd / 'deep/er/solver.prototxt').read_text()
    (cwd / 'second/plain.prototxt').write_text(
        re.sub(r'augment \{[^{}]*\}|shuffle: true', '', (cwd / 'second/train_val.prototxt').read_text()))
    run('upgrade', 'second/plain.prototxt', 'caffe.prototxt', '--dialect=bvlc', cwd=cwd)
    assert 'relative_to_file' not in (cwd / 'caffe.prototxt').read_text()
    run('check', 'caffe.prototxt', cwd=cwd)
    error = run('tune', project + 'solver.prototxt', '-o', 'tuned.prototxt', cwd=cwd, code=2).stderr
    assert 'relative to its folder' in error and 'second/tuned.prototxt' in error


@pytest.mark.parametrize('images', [1, 2, 9])
def test_a_new_project_trains(run, tmp_path, images):
    make_photos(tmp_path / 'photos', 2 * images)
    run('convert', 'folder', 'photos', '-o', 'data', '--split=0.5', cwd=tmp_path)
    for batch in (0, 1, 7, 64):
        for epochs in (1, 2, 3):
            run('new', 'classifier', '--data=data', '--from=lenet', '-o', 'my', '--epochs=%d' % epochs,
                '--batch=%d' % batch, '--force', cwd=tmp_path)
            shutil.rmtree(tmp_path / 'my/snapshots')
            run('check', 'my/solver.prototxt', cwd=tmp_path)
            log = run('train', 'my/solver.prototxt', cwd=tmp_path).stderr
            net = (tmp_path / 'my/train_val.prototxt').read_text()
            iterations = -(-2 * images * epochs // int(re.search(r'batch_size: (\d+)', net)[1]))
            assert 'takes max_iter: %d\n' % iterations in log and 'Optimization Done' in log
            assert (tmp_path / 'my/snapshots/my_best.caffemodel').exists(), (batch, epochs)
