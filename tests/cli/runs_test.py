"""Run folders: their contents; a run that is killed at a random time is listed as killed and resumes to the same
weights; TensorBoard's own reader returns what was logged (if installed: test_venv.sh); `runs`, `runs compare`,
`snapshot`."""
import glob, html.parser, json, os, pathlib, random, re, shutil, signal, subprocess, time

import pytest

from tests.cli import fixtures
from tests.harness.venv import use_venv

use_venv()

NET = '''name: "small"
layer { name: "data" type: "DummyData" top: "data" top: "target" dummy_data_param {
  shape { dim: 8 dim: 3 dim: 12 dim: 12 } shape { dim: 8 dim: 2 }
  data_filler { type: "gaussian" } data_filler { type: "gaussian" } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 8 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "drop" type: "Dropout" bottom: "conv" top: "conv" }
layer { name: "ip" type: "InnerProduct" bottom: "conv" top: "ip"
  inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "target" top: "loss" }
'''
SOLVER = '''net: "net.prototxt" base_lr: 0.001 lr_policy: "step" gamma: 0.9 stepsize: 50 momentum: 0.9 max_iter: 600
display: 20 test_iter: 12 test_interval: 100 snapshot: 50 snapshot_prefix: "elsewhere/small" keep_best: "loss"
keep_last: 2
'''
CLASSES = '''name: "classes"
layer { name: "data" type: "Data" top: "data" top: "label" transform_param { scale: 0.00390625 mean_value: 100 }
  data_param { source: "classes_lmdb" batch_size: 8 backend: LMDB } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 8 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "ip" type: "InnerProduct" bottom: "conv" top: "ip"
  inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }
layer { name: "accuracy" type: "Accuracy" bottom: "ip" bottom: "label" top: "accuracy" include { phase: TEST } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
'''


@pytest.fixture(scope='module', autouse=True)
def small(shared_folder, cortado):
    """A net and a solver, and `cortado` on PATH."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('PATH', os.path.dirname(cortado), prepend=':')
        (shared_folder / 'net.prototxt').write_text(NET)
        (shared_folder / 'solver.prototxt').write_text(SOLVER)
        yield


@pytest.fixture(scope='module')
def seconds_of_a(run):
    """Makes run_a; returns its seconds."""
    begun = time.monotonic()
    run('train', 'solver.prototxt', '--run=runs/a', '--seed=3', '--set', 'solver.gamma=0.8')
    return time.monotonic() - begun


@pytest.fixture(scope='module')
def run_a(seconds_of_a):
    """An uninterrupted run."""
    return 'runs/a'


@pytest.fixture(scope='module')
def run_b(run):
    """A shorter run."""
    run('train', 'solver.prototxt', '--run=runs/b', '--seed=4', '--set', 'solver.max_iter=100')
    return 'runs/b'


def weights(folder, name='small_iter_600.caffemodel'):
    return pathlib.Path(folder, 'snapshots', name).read_bytes()


@pytest.fixture(scope='module')
def state(run):
    """state('runs/a') is that folder's entry of `cortado runs`."""
    return lambda folder: {entry['path']: entry for entry in json.loads(run('runs', '.', '--json').stdout)}[folder]


def metrics(folder): return [json.loads(line) for line in open(folder + '/metrics.jsonl')]


def best_iteration(folder):
    """The iteration of the best test after iteration 0, which has no snapshot."""
    return min((row['outputs']['loss'], row['iter']) for row in metrics(folder)
               if row['ev'] == 'test' and row['iter'] > 0)[1]


def test_contents_of_a_run_folder(run_a, state):
    assert sorted(os.listdir('runs/a')) == ['layers.jsonl', 'lock', 'log.txt', 'metrics.jsonl', 'net.prototxt',
                                            'report.html', 'run.json', 'snapshots', 'solver.prototxt', 'tb']
    assert 'gamma: 0.8' in pathlib.Path('runs/a/solver.prototxt').read_text()
    assert 'Optimization Done' in pathlib.Path('runs/a/log.txt').read_text()
    assert not os.path.exists('elsewhere')
    record = json.loads(pathlib.Path('runs/a/run.json').read_text())
    assert record['flags'] == {'seed': ['3']} and record['starts'][0]['set'] == ['solver.gamma=0.8']
    a = state('runs/a')
    assert (a['state'], a['iter'], a['max_iter']) == ('finished', 600, 600)
    kept = [name for name in os.listdir('runs/a/snapshots') if name.endswith('solverstate')]
    best = 'small_iter_%d.solverstate' % best_iteration('runs/a')
    assert sorted({best, 'small_iter_550.solverstate', 'small_iter_600.solverstate'}) == sorted(kept)


def test_only_a_new_or_empty_folder_becomes_a_run(run, run_a):
    run('train', 'solver.prototxt', '--run=runs/a', code=2)
    run('train', 'solver.prototxt', '--resume=runs/a', code=2)
    run('train', '--resume=nowhere', code=2)
    os.mkdir('full')
    pathlib.Path('full/x').touch()
    run('train', 'solver.prototxt', '--run=full', code=2)


def kill_at(cortado, moment, *words):
    training = subprocess.Popen([cortado, 'train', *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(moment)
    alive = training.poll() is None
    training.send_signal(signal.SIGKILL)
    training.wait()
    return alive


@pytest.fixture(scope='module')
def killed_runs(cortado, run, seconds_of_a, state, seed, request):
    """Folders of runs like run_a, each killed and resumed until it has finished; and the number of kills."""
    folders, kills, draw = [], 0, random.Random(seed)
    for number in range(request.config.getoption('--rounds') or 4):
        folders.append('runs/k%d' % number)
        words = ['solver.prototxt', '--run=' + folders[-1], '--seed=3', '--set', 'solver.gamma=0.8']
        for _ in range(20):
            killed = kill_at(cortado, draw.uniform(0.01, seconds_of_a), *words)
            if not os.path.exists(folders[-1] + '/run.json'): continue
            words = ['--resume=' + folders[-1]]
            seen = state(folders[-1])['state']
            assert seen in (('killed', 'new', 'finished') if killed else ('finished',)), (seen, killed)
            kills += seen == 'killed'
            if seen == 'finished': break
        run('train', *words)
    return folders, kills


def test_killed_runs_resume_to_the_same_weights(killed_runs, state):
    """The weights have the same bytes after any number of kills."""
    folders, kills = killed_runs
    assert kills > 0
    for folder in folders:
        assert state(folder)['state'] == 'finished'
        assert weights(folder) == weights('runs/a'), folder
        assert weights(folder, 'small_best.caffemodel') == weights('runs/a', 'small_best.caffemodel'), folder


def test_stopped_run_resumes_from_another_folder(cortado, run, state):
    training = subprocess.Popen([cortado, 'train', 'solver.prototxt', '--run=runs/s', '--set',
                                 'solver.max_iter=10000000'], stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    while not os.path.exists('runs/s/metrics.jsonl') or '"train"' not in open('runs/s/metrics.jsonl').read():
        assert time.monotonic() < until and training.poll() is None
        time.sleep(0.01)
    seen = state('runs/s')
    assert (seen['state'], seen['pid']) == ('running', training.pid)
    run('train', '--resume=runs/s', code=5)
    training.send_signal(signal.SIGTERM)
    log = training.communicate(timeout=60)[1]
    assert training.returncode == 143 and 'to resume: cortado train --resume=runs/s' in log
    stopped = state('runs/s')
    assert stopped['state'] == 'stopped'
    os.mkdir('other')
    done = run('train', '--resume=../runs/s', '--set', 'solver.max_iter=%d' % (stopped['iter'] + 5), cwd='other')
    command = re.search(r'next: (cd /.* && cortado test runs/s)$', done.stderr, re.M)[1]
    subprocess.run(command + ' --iterations=1', shell=True, cwd='other', check=True, capture_output=True)
    assert state('runs/s')['state'] == 'finished'


def test_diverged_run_records_its_error(run, state):
    run('train', 'solver.prototxt', '--run=runs/d', '--set', 'solver.base_lr=1e9', code=7)
    d = state('runs/d')
    assert d['state'] == 'diverged' and 'diverged at iteration' in d['problem']


@pytest.mark.parametrize('code, words', [
    (3, ['--set', 'net.layer[ip].bottom=nothing']), (3, ['--set', 'net.layer[conv].convolution_param.num_output=0']),
    (3, ['--set', 'solver.keep_best="nothing"']), (3, ['--set', 'solver.nothing=1']), (2, ['--histogram=3']),
    (2, ['--metrics=x.png']), (5, ['--metrics=nowhere/m.jsonl']), (5, ['--weights=nowhere.caffemodel']),
    (2, ['--freeze=nothing']), (8, ['--snapshot=damaged/small_iter_3.solverstate'])])
def test_refused_trainings_leave_no_run(run, folder_listing, code, words):
    os.makedirs('damaged', exist_ok=True)
    pathlib.Path('damaged/small_iter_3.solverstate').write_text('noise')
    before = folder_listing()
    run('train', 'solver.prototxt', '--run=new/f', *words, code=code)
    assert folder_listing() == before


@pytest.fixture
def folder_listing():
    return lambda: sorted(str(path) for path in pathlib.Path('.').rglob('*'))


def test_training_in_a_wrong_folder_creates_none(run, tmp_path):
    (tmp_path / 'net.prototxt').write_text(CLASSES)
    (tmp_path / 'solver.prototxt').write_text(SOLVER.replace('elsewhere/', 'net/snapshots/'))
    os.mkdir(tmp_path / 'wrong')
    run('train', '../solver.prototxt', code=5, cwd=tmp_path / 'wrong')
    run('snapshot', 'prune', 'nosuch/dir/s', code=8, cwd=tmp_path / 'wrong')
    assert os.listdir(tmp_path / 'wrong') == []


def test_refused_resume_changes_nothing(run, run_b):
    def files(): return {path: path.read_bytes() for path in pathlib.Path('runs/b').rglob('*')
                         if path.is_file() and path.name not in ('lock', 'log.txt')}
    before = files()
    for code, setting in ((3, 'net.layer[conv].convolution_param.num_output=0'), (3, 'solver.keep_best="nothing"'),
                          (8, 'net.layer[conv].convolution_param.num_output=9')):
        run('train', '--resume=runs/b', '--set', setting, code=code)
        assert files() == before, setting


def test_weights_next_to_the_solver_are_found_by_a_resume(run, tmp_path):
    os.makedirs(tmp_path / 'own')
    for name in ('net', 'solver'): shutil.copy('%s.prototxt' % name, tmp_path / 'own')
    run('train', 'solver.prototxt', '--set', 'solver.max_iter=2', cwd=tmp_path / 'own')
    shutil.copy(tmp_path / 'own/elsewhere/small_iter_2.caffemodel', tmp_path / 'own/w.caffemodel')
    with open(tmp_path / 'own/solver.prototxt', 'a') as file: file.write('weights: "w.caffemodel"\n')
    for words in (['own/solver.prototxt', '--run=r', '--set', 'solver.max_iter=2'], ['--resume=r']):
        assert 'Finetuning from own/w.caffemodel' in run('train', *words, cwd=tmp_path).stderr
        for path in (tmp_path / 'r/snapshots').glob('*'): path.unlink()


@pytest.mark.parametrize('begin', [['--weights=w.caffemodel'], []], ids=['weights', 'fillers'])
def test_a_run_without_a_complete_snapshot_does_not_restart(run, tmp_path, begin):
    for name in ('net', 'solver'): shutil.copy('%s.prototxt' % name, tmp_path)
    run('train', 'solver.prototxt', '--set', 'solver.max_iter=2', cwd=tmp_path)
    shutil.copy(tmp_path / 'elsewhere/small_iter_2.caffemodel', tmp_path / 'w.caffemodel')
    run('train', 'solver.prototxt', '--run=r', '--set', 'solver.max_iter=2', *begin, cwd=tmp_path)
    (tmp_path / 'r/snapshots/small_iter_2.caffemodel').write_bytes(b'noise')
    before = sorted(os.listdir(tmp_path / 'r/snapshots'))
    for words in (['--resume=r', '--set', 'solver.max_iter=4'],
                  ['r/solver.prototxt', '--snapshot=auto', '--set', 'solver.max_iter=4']):
        done = run('train', *words, code=8, cwd=tmp_path)
        assert 'is skipped' in done.stderr and 'no snapshot of' in done.stderr
        assert sorted(os.listdir(tmp_path / 'r/snapshots')) == before


@pytest.fixture(scope='module')
def run_c(run):
    """A run of another net."""
    run('train', 'solver.prototxt', '--run=runs/c', '--seed=4', '--set', 'solver.max_iter=60', '--set',
        'net.layer[conv].convolution_param.num_output=4', '--set', 'net.layer[relu].name="rectify"')
    return 'runs/c'


def words_of(text): return [line.split() for line in text.split('\n')]


def test_comparison_of_runs(run, run_a, run_b, run_c):
    """Scores, settings and layers by name, inputs and machine; for two runs also their files."""
    lines = words_of(run('runs', 'compare', 'runs/a', 'runs/b', 'runs/c').stdout)
    assert ['best', 'score', 'runs/a', 'runs/b', 'runs/c'] == lines[0] and lines[1][0] == 'loss' and len(lines[1]) == 4
    for row in (['max_iter', '600', '100', '60'], ['gamma', '0.8', '0.9', '0.9'],
                ['conv', 'convolution_param.num_output', '8', '8', '4'], ['relu', 'type', 'ReLU', 'ReLU', '-'],
                ['rectify', 'type', '-', '-', 'ReLU'], ['--seed', '3', '4', '4']):
        assert row in lines, (row, lines)
    assert 'layers: the same' in run('runs', 'compare', 'runs/a', 'runs/b').stdout
    seen = json.loads(run('runs', 'compare', 'runs/a', 'runs/b', '--json').stdout)
    assert {'name': '--seed', 'values': ['3', '4'], 'a': '3', 'b': '4'} in seen['facts']
    assert {'name': 'max_iter', 'values': ['600', '100']} in seen['settings']
    assert '- max_iter: 600' in {line for file in seen['files'] for line in file['lines']}
    for target in ('/etc/passwd', '/etc/hostname'): os.symlink(target, 'runs/b/%s.prototxt' % os.path.basename(target))
    try: assert json.loads(run('runs', 'compare', 'runs/a', 'runs/b', '--json').stdout) == seen, 'links are skipped'
    finally:
        for name in ('passwd', 'hostname'): os.remove('runs/b/%s.prototxt' % name)
    os.mkdir('broken')
    pathlib.Path('broken/run.json').write_text('{"schema":1}')
    assert 'is not the record' in run('runs', 'compare', 'runs/a', 'broken', code=2).stderr


def test_comparison_of_other_nets_is_folded(run, run_a, tmp_path):
    layers = ''.join('layer { name: "r%d" type: "ReLU" bottom: "ip" top: "ip" }\n' % k for k in range(21))
    loss = NET.index('layer { name: "loss"')
    (tmp_path / 'net.prototxt').write_text(NET[:loss] + layers + NET[loss:])
    shutil.copy('solver.prototxt', tmp_path)
    run('train', 'solver.prototxt', '--run=deep', '--set', 'solver.max_iter=2', cwd=tmp_path)
    folded = run('runs', 'compare', 'runs/a', tmp_path / 'deep').stdout
    assert 'layers: 21 layers added, 0 removed, 0 changed; --full lists them' in folded
    full = run('runs', 'compare', 'runs/a', tmp_path / 'deep', '--full').stdout
    assert ['r20', 'type', '-', 'ReLU'] in words_of(full)


def test_comparison_with_a_linked_net(run, run_a, run_b):
    """A net that is a link may belong to somebody else; it is not read."""
    net = pathlib.Path('runs/b/net.prototxt')
    text = net.read_text()
    net.unlink()
    net.symlink_to('/etc/hostname')
    try: assert ['conv', 'type', 'Convolution', '-'] in words_of(run('runs', 'compare', 'runs/a', 'runs/b').stdout)
    finally:
        net.unlink()
        net.write_text(text)


RUN_FILES = ('run.json', 'lock', 'log.txt', 'metrics.jsonl', 'layers.jsonl', 'report.html', 'solver.prototxt',
             'net.prototxt', 'labels.txt')


def put(kind, path, target):
    if kind == 'link': path.symlink_to(target)
    elif kind == 'dangling link': path.symlink_to(target.with_name('none'))
    elif kind == 'pipe': os.mkfifo(path)
    elif kind == 'device': path.symlink_to('/dev/zero')
    elif kind == 'unreadable': path.touch(mode=0)
    else: path.mkdir()


@pytest.mark.parametrize('kind', [
    'link', 'dangling link', 'pipe', 'device', 'folder',
    pytest.param('unreadable', marks=pytest.mark.skipif(os.geteuid() == 0, reason='root reads every file'))])
@pytest.mark.parametrize('name', RUN_FILES)
def test_odd_files_in_a_run(cortado, run_a, tmp_path, name, kind):
    """A run's folder may come from elsewhere: no command waits for its pipes or changes what its links lead to."""
    shutil.copytree('runs/a', tmp_path / 'odd', symlinks=True)
    shutil.copytree('runs/a', tmp_path / 'whole', symlinks=True)
    path, target = tmp_path / 'odd' / name, tmp_path / 'target'
    target.write_text('keep me\n')
    if path.exists(): path.unlink()
    put(kind, path, target)

    def ended(*words):
        return subprocess.run([cortado, *words], capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL)

    odd, whole = str(tmp_path / 'odd'), str(tmp_path / 'whole')
    listed = ended('runs', str(tmp_path))
    assert listed.returncode == 0 and whole in listed.stdout, listed
    for words in (('report', '--light', odd), ('runs', 'compare', odd, whole), ('runs', 'best', str(tmp_path)),
                  ('train', '--resume=' + odd, '--set', 'solver.max_iter=601')):
        done = ended(*words)
        assert done.returncode in (0, 2, 3, 5), (words, done)
        if done.returncode: assert 'error: ' in done.stderr, (words, done)
    assert target.read_text() == 'keep me\n'
    assert not target.with_name('none').exists()


def test_page_of_a_comparison(run, run_a, run_b):
    assert 'wrote all.html' in run('runs', 'compare', 'runs/a', 'runs/b', '-o', 'all.html').stdout
    page = Page(pathlib.Path('all.html').read_text())
    assert page.fetched == [] and page.numbers['runs'] == ['runs/a', 'runs/b']
    assert [one['training']['loss'][-1][0] for one in page.numbers['curves']] == [580, 80]
    run('runs', 'compare', 'runs/a', 'runs/b', '-o', 'all.html', code=5)
    run('runs', 'compare', 'runs/a', 'runs/b', '-o', 'all.png', code=2)
    run('runs', 'compare', 'runs/a', code=2)


def read_events(folder):
    """TensorBoard's reader of a folder; skips the test if TensorBoard is not installed."""
    reader = pytest.importorskip('tensorboard.backend.event_processing.event_accumulator')
    events = reader.EventAccumulator(folder, size_guidance={'scalars': 0, 'histograms': 0, 'images': 0, 'tensors': 0})
    events.Reload()
    return events


def scalars(events, tag): return [(event.step, event.value) for event in events.Scalars(tag)]


@pytest.mark.parametrize('number', [None, 0, 1], ids=['uninterrupted', 'killed', 'another_killed'])
def test_tensorboard_reads_all_that_was_logged(run_a, killed_runs, number):
    """Each iteration appears once after any number of kills."""
    if number is not None and number >= len(killed_runs[0]): pytest.skip('fewer --rounds')
    events = read_events((run_a if number is None else killed_runs[0][number]) + '/tb')
    tags, rows = events.Tags(), metrics('runs/a')
    for name, event, key in (('train/loss', 'train', 'loss'), ('train/rate', 'train', 'lr')):
        expected = [(row['iter'], row[key]) for row in rows if row['ev'] == event]
        got = scalars(events, name)
        assert [step for step, _ in got] == [step for step, _ in expected]
        assert all(abs(a - b) <= 1e-6 * abs(b) for (_, a), (_, b) in zip(got, expected)), (got, expected)
    tests = {row['iter']: round(row['outputs']['loss'], 4) for row in rows if row['ev'] == 'test'}
    assert {step: round(value, 4) for step, value in scalars(events, 'test/loss')} == tests
    assert events.Histograms('weights/conv/0')[0].histogram_value.num == 8 * 3 * 9
    assert set(tags['histograms']) == {kind + '/' + blob for kind in ('weights', 'gradients')
                                       for blob in ('conv/0', 'conv/1', 'ip/0', 'ip/1')}
    first = events.Images('first filters')[0]
    assert events.Images('batch') and (first.width, first.height) == (11, 11)
    assert len(events.Graph().node) == 6 and 'solver/text_summary' in tags['tensors']


@pytest.mark.parametrize('cut', [1, 5, 40])
def test_tensorboard_skips_only_an_incomplete_record(run_a, tmp_path, cut):
    whole = scalars(read_events('runs/a/tb'), 'train/loss')
    path, = glob.glob('runs/a/tb/*')
    (tmp_path / os.path.basename(path)).write_bytes(pathlib.Path(path).read_bytes()[:-cut])
    assert scalars(read_events(str(tmp_path)), 'train/loss') == whole


def test_snapshots_are_listed_verified_and_pruned(run, run_a, run_b):
    listed = json.loads(run('snapshot', 'ls', 'runs/a', '--json').stdout)
    assert [one['iter'] for one in listed][-2:] == [550, 600]
    run('snapshot', 'verify', 'runs/a')
    damaged = pathlib.Path('runs/b/snapshots/small_iter_100.caffemodel')
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    done = run('snapshot', 'verify', 'runs/b', code=8)
    assert 'does not match its checksum' in done.stdout + done.stderr
    run('snapshot', 'prune', 'runs/b/snapshots/small', code=8)
    a = 'runs/a/snapshots/small_iter_600.'
    done = run('snapshot', 'diff', a + 'caffemodel', a + 'solverstate')
    assert '0 blobs are equal' not in done.stdout + done.stderr
    run('snapshot', 'prune', 'runs/a', '--keep-last=1')
    left = {one['iter'] for one in json.loads(run('snapshot', 'ls', 'runs/a', '--json').stdout)}
    assert left == {600, best_iteration('runs/a')}
    run('snapshot', 'verify', 'nowhere', code=8)
    run('snapshot', 'list', 'runs/a', code=2)


@pytest.fixture
def swung(run, tmp_path):
    """A run with averaged weights whose best test is not its last one: (its folder, the best iteration)."""
    (tmp_path / 'net.prototxt').write_text(NET + '''layer { name: "distance" type: "EuclideanLoss" loss_weight: 0
  bottom: "ip" bottom: "target" top: "distance" }''')
    solver = SOLVER
    for a, b in (('keep_last: 2', 'ema_decay: 0.5'), ('600', '60'), ('test_interval: 100', 'test_interval: 10'),
                 ('snapshot: 50', 'snapshot: 10'),
                 ('keep_best: "loss"', 'keep_best: "distance" higher_is_better: "distance"')):
        solver = solver.replace(a, b)
    (tmp_path / 'solver.prototxt').write_text(solver + 'random_seed: 1')
    run('train', 'solver.prototxt', '--run=r', cwd=tmp_path)
    tests = [row for row in metrics(str(tmp_path / 'r')) if row['ev'] == 'test' and row['iter'] > 0]
    best = max((row['outputs']['distance'], row['iter']) for row in tests)[1]
    assert best < 60
    return tmp_path / 'r', best


@pytest.mark.parametrize('harm', ['none', 'missing', 'damaged'])
def test_the_best_is_kept_without_its_link(run, swung, harm):
    folder, best = swung
    link = folder / 'snapshots/small_best.caffemodel'
    if harm == 'missing': link.unlink()
    if harm == 'damaged':
        link.unlink()
        link.write_bytes(b'noise')
    run('snapshot', 'prune', folder)
    left = {one['iter'] for one in json.loads(run('snapshot', 'ls', folder, '--json').stdout)}
    assert left == {best, 60}


@pytest.mark.parametrize('name, type', [
    ('test_error', 'EuclideanLoss'), ('mae', 'L1Loss'), ('top1_err', 'EuclideanLoss'), ('quality', 'SmoothL1Loss')])
def test_the_lowest_error_is_the_best(run, tmp_path, name, type):
    """In the snapshots, in the record, in `runs best` and in `runs compare`."""
    (tmp_path / 'net.prototxt').write_text(NET + 'layer { name: "score" type: "%s" loss_weight: 0 bottom: "ip" '
                                           'bottom: "target" top: "%s" include { phase: TEST } }' % (type, name))
    (tmp_path / 'solver.prototxt').write_text(
        SOLVER.replace('600', '60').replace('test_interval: 100', 'test_interval: 10').replace('"loss"', '"%s"' % name))
    run('train', 'solver.prototxt', '--run=r', cwd=tmp_path)
    rows = metrics(str(tmp_path / 'r'))
    tests = [(row['outputs'][name], row['iter']) for row in rows if row['ev'] == 'test' and row['iter'] > 0]
    value, iteration = min(tests)
    assert {'name': name, 'best': 'lowest', 'main': True} in rows[0]['scores'] and max(tests)[1] != iteration
    linked = weights(tmp_path / 'r', 'small_best.caffemodel')
    assert linked == weights(tmp_path / 'r', 'small_iter_%d.caffemodel' % iteration)
    assert re.search(r'%s \S+ at iteration %d, the lowest of 1 run' % (name, iteration),
                     run('runs', 'best', cwd=tmp_path).stdout)
    best = json.loads(run('runs', 'best', '--json', cwd=tmp_path).stdout)
    assert (best['score'], best['iter'], best['best']) == (name, iteration, 'lowest')
    assert abs(best['value'] - value) < 1e-5
    scores = json.loads(run('runs', 'compare', 'r', 'r', '--json', cwd=tmp_path).stdout)['scores']
    assert [one['best'] for one in scores if one['name'] == name] == ['lowest']


def test_a_test_before_the_first_update_is_no_result(run, tmp_path):
    (tmp_path / 'net.prototxt').write_text(NET)
    (tmp_path / 'solver.prototxt').write_text(SOLVER.replace('600', '60'))
    log = run('train', 'solver.prototxt', '--run=r', cwd=tmp_path).stderr
    assert 'keep_best kept nothing: no test ran after an update' in log
    refused = run('runs', 'best', cwd=tmp_path, code=2).stderr
    assert 'tested only before the first update' in refused and 'test_interval' in refused
    assert json.loads(run('runs', '.', '--json', cwd=tmp_path).stdout)[0]['best'] == {}
    run('train', 'solver.prototxt', '--run=r2', '--set', 'solver.test_interval=30', cwd=tmp_path)
    found = json.loads(run('runs', 'best', '--json', cwd=tmp_path).stdout)
    assert (found['path'], found['runs']) == ('r2', 1) and found['iter'] in (30, 60)


@pytest.mark.parametrize('name', ['small_best.caffemodel', 'small_iter_20_ema.caffemodel'])
def test_averages_and_the_best_are_verified_too(run, swung, name):
    folder, _ = swung
    run('snapshot', 'verify', folder)
    path = folder / 'snapshots' / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.unlink()  # it may be a link
    path.write_bytes(content)
    problems = {one['weights']: one['problem'] for one in
                json.loads(run('snapshot', 'verify', folder, '--json', code=8).stdout) if one['problem']}
    assert list(problems) == [str(path).replace('_ema', '')] and 'checksum' in list(problems.values())[0]


def test_temporary_files_of_killed_processes_are_removed(run, tmp_path):
    for name in ('net', 'solver'): shutil.copy('%s.prototxt' % name, tmp_path)
    dead = subprocess.Popen(['true'])
    dead.wait()
    os.makedirs(tmp_path / 'r')
    os.makedirs(tmp_path / ('set_lmdb.tmp.%d' % dead.pid))
    fixtures.idx(tmp_path / 'images', tmp_path / 'labels')
    for name in ('run.json', 'report.html', 'net.prototxt', 'solver.prototxt'):
        (tmp_path / 'r' / ('%s.tmp.%d' % (name, dead.pid))).write_text('half')
    (tmp_path / 'r/lock').touch()
    (tmp_path / ('w.npz.tmp.%d' % dead.pid)).write_text('half')
    (tmp_path / ('w.npz.tmp.%d' % os.getpid())).write_text("another's")
    run('train', 'solver.prototxt', '--run=r', '--set', 'solver.max_iter=2', cwd=tmp_path)
    run('convert', 'weights', 'r/snapshots/small_iter_2.caffemodel', 'w.npz', cwd=tmp_path)
    run('convert', 'idx', 'images', 'labels', '-o', 'set_lmdb', cwd=tmp_path)
    assert [path.name for path in tmp_path.rglob('*.tmp.*')] == ['w.npz.tmp.%d' % os.getpid()]


class Page(html.parser.HTMLParser):
    """Checks that elements are nested; collects the numbers and the addresses that a browser would fetch."""
    EMPTY = {'meta', 'link', 'img', 'br', 'input'}

    def __init__(self, text):
        super().__init__()
        self.open, self.fetched, self.numbers = [], [], None
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.fetched += [value for name, value in attributes if name in ('src', 'href') and not value.startswith('#')]
        if tag not in self.EMPTY:
            self.open.append((tag, dict(attributes).get('id')))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag, tag

    def handle_data(self, data):
        if self.open and self.open[-1] == ('script', 'numbers'):
            self.numbers = json.loads(data)


def test_report_of_a_classifier(run, run_a):
    """The report's numbers are those of the metrics and of `cortado test`."""
    fixtures.lmdb('classes_lmdb', n=99, h=12, w=12)
    pathlib.Path('labels.txt').write_text('</script>\ntwo <b>\nthree\n"four"\n')
    pathlib.Path('classes.prototxt').write_text(CLASSES)
    pathlib.Path('classes_solver.prototxt').write_text(
        SOLVER.replace('net.prototxt', 'classes.prototxt').replace('"loss"', '"accuracy"').replace('600', '120'))
    run('train', 'classes_solver.prototxt', '--run=runs/r', '--set', 'solver.base_lr=0.01')
    text = pathlib.Path('runs/r/report.html').read_text()
    page = Page(text)
    assert page.fetched == [] and 'http:' not in text.replace('http://www.w3.org/2000/svg', '') and len(text) < 5e6
    seen, rows = page.numbers, metrics('runs/r')
    assert seen['curves']['training']['loss'] == [[row['iter'], row['loss']] for row in rows if row['ev'] == 'train']
    assert seen['curves']['tests']['accuracy'] == [[row['iter'], row['outputs']['accuracy']]
                                                   for row in rows if row['ev'] == 'test']
    assert seen['run']['state'] == 'finished' and seen['notes'] == []
    assert len(seen['layers']) == 4 and seen['times']['layers']
    best = max(value for _, value in seen['curves']['tests']['accuracy'][1:])
    judged = seen['test']['classifications'][0]
    assert judged['samples'] == 99 and judged['classes'][0]['name'] == '</script>'
    assert abs(judged['accuracy'] - best) < 0.1  # training tests 96 of the 99
    assert sum(map(sum, judged['confusion'])) == 99
    wrong = 99 - sum(judged['confusion'][i][i] for i in range(len(judged['confusion'])))
    test = seen['test']
    assert (test['samples'], test['records'], test['limit']) == (99, 99, '')
    assert (test['wrong_total'], test['right_total']) == (wrong, 99 - wrong)
    assert len(test['wrong']) == min(wrong, 32) and len(test['unsure']) == min(99 - wrong, 32)
    assert all(one['guesses'][0][0] != one['truth'] for one in test['wrong'])
    assert all(one['guesses'][0][0] == one['truth'] for one in test['unsure'])
    assert (test['wrong'] + test['unsure'])[0]['image'].startswith('data:image/png;base64,')
    assert ['max_iter', '120', ''] in seen['settings'] and ['iter_size', '1', '1'] not in seen['settings']
    assert seen['net']['image'].startswith('data:image/svg+xml;base64,') and '4 layers' in seen['net']['headline']
    layers = seen['times']['layers']
    assert abs(sum(one['share'] for one in layers) - 1) < 1e-6 and all(0 <= one['share'] <= 1 for one in layers)
    assert 'max_iter: 120' in seen['solver']
    assert sum(one['count'] for one in seen['test']['calibration']['bins']) == 99
    assert seen['previous']['runs'][1] == 'runs/r'
    assert json.loads(run('report', 'runs/r', '--light', '--json').stdout)['test'] is None
    rates = [[row['iter'], row['img_s']] for row in rows if row.get('img_s')]
    assert seen['curves']['training']['img_s'] == rates and len({rate for _, rate in rates}) > 1
    done = run('report', 'runs/r')
    assert 'runs/r/report.html' in done.stdout + done.stderr
    run('report', 'nowhere', code=2)


def test_report_says_which_part_of_the_test_set_it_used(run, tmp_path):
    """The outputs of this net have a value for each sample, so that a batch must be full."""
    fixtures.lmdb(str(tmp_path / 'classes_lmdb'), n=30, h=12, w=12)
    (tmp_path / 'net.prototxt').write_text(
        CLASSES + 'layer { name: "best" type: "ArgMax" bottom: "ip" top: "best" include { phase: TEST } }')
    solver = SOLVER.replace('"loss"', '"accuracy"').replace('600', '4').replace('test_iter: 12', 'test_iter: 3')
    (tmp_path / 'solver.prototxt').write_text(solver)
    run('train', 'solver.prototxt', '--run=r', cwd=tmp_path)
    test = Page((tmp_path / 'r/report.html').read_text()).numbers['test']
    assert (test['samples'], test['records']) == (24, 30) and 'fill a batch' in test['limit']
    assert test['wrong_total'] + test['right_total'] == 24
