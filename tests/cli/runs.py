#!/usr/bin/python3
"""Run folders: what is in one; a run that is killed at any moment lists as such and resumes to the same weights; what
TensorBoard's own reader returns (where it is installed: scripts/test_venv.sh); `runs`, `runs compare` and `snapshot`.
runs.py CORTADO VENV
"""
import glob, html.parser, json, os, random, signal, subprocess, sys, tempfile, time

import fixtures

cortado, venv = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])

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


def run(*words, code=0, **options):
    done = subprocess.run([cortado, *words], capture_output=True, text=True, **options)
    assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr[-3000:])
    return done.stdout + done.stderr


def weights(folder, name='small_iter_600.caffemodel'):
    with open(os.path.join(folder, 'snapshots', name), 'rb') as file:
        return file.read()


def state(folder):
    return {entry['path']: entry for entry in json.loads(run('runs', '.', '--json'))}[folder]


def best_iteration(folder):
    """Of the snapshots that there can have been: what training starts from is none."""
    rows = [json.loads(line) for line in open(folder + '/metrics.jsonl')]
    return min((row['outputs']['loss'], row['iter']) for row in rows if row['ev'] == 'test' and row['iter'] > 0)[1]


def check_folder():
    run('train', 'solver.prototxt', '--run=runs/a', '--seed=3', '--set', 'solver.gamma=0.8')
    found = sorted(os.listdir('runs/a'))
    assert found == ['layers.jsonl', 'lock', 'log.txt', 'metrics.jsonl', 'net.prototxt', 'report.html', 'run.json',
                     'snapshots', 'solver.prototxt', 'tb'], found
    assert 'gamma: 0.8' in open('runs/a/solver.prototxt').read()
    assert 'Optimization Done' in open('runs/a/log.txt').read()
    assert not os.path.exists('elsewhere')
    record = json.load(open('runs/a/run.json'))
    assert record['flags'] == {'seed': ['3']} and record['starts'][0]['set'] == ['solver.gamma=0.8'], record
    a = state('runs/a')
    assert (a['state'], a['iter'], a['max_iter']) == ('finished', 600, 600), a
    kept = [name for name in os.listdir('runs/a/snapshots') if name.endswith('solverstate')]
    best = 'small_iter_%d.solverstate' % best_iteration('runs/a')
    assert sorted({best, 'small_iter_550.solverstate', 'small_iter_600.solverstate'}) == sorted(kept), (kept, a)
    run('train', 'solver.prototxt', '--run=runs/a', code=2)
    run('train', 'solver.prototxt', '--resume=runs/a', code=2)
    run('train', '--resume=nowhere', code=2)
    os.mkdir('full')
    open('full/x', 'w').close()
    run('train', 'solver.prototxt', '--run=full', code=2)


class Page(html.parser.HTMLParser):
    """Elements that open and close as they should, the numbers, and whatever a browser would fetch."""
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


def check_report():
    """The report of a classifier: its numbers are those of the metrics and of `cortado test`."""
    fixtures.lmdb('classes_lmdb', n=96, h=12, w=12)
    with open('labels.txt', 'w') as file:
        file.write('</script>\ntwo <b>\nthree\n"four"\n')
    open('classes.prototxt', 'w').write(CLASSES)
    open('classes_solver.prototxt', 'w').write(SOLVER.replace('net.prototxt', 'classes.prototxt')
                                               .replace('"loss"', '"accuracy"').replace('600', '120'))
    run('train', 'classes_solver.prototxt', '--run=runs/r', '--set', 'solver.base_lr=0.01')
    text = open('runs/r/report.html').read()
    page = Page(text)
    assert page.fetched == [] and 'http:' not in text.replace('http://www.w3.org/2000/svg', '') and len(text) < 5e6
    seen, rows = page.numbers, [json.loads(line) for line in open('runs/r/metrics.jsonl')]
    assert seen['curves']['training']['loss'] == [[row['iter'], row['loss']] for row in rows if row['ev'] == 'train']
    assert seen['curves']['tests']['accuracy'] == [[row['iter'], row['outputs']['accuracy']]
                                                   for row in rows if row['ev'] == 'test']
    assert seen['run']['state'] == 'finished' and seen['notes'] == [], seen['notes']
    assert len(seen['layers']) == 4 and seen['times']['layers']
    best = max(value for _, value in seen['curves']['tests']['accuracy'][1:])
    judged = seen['test']['classifications'][0]
    assert judged['samples'] == 96 and [one['name'] for one in judged['classes']][0] == '</script>', judged['classes']
    assert abs(judged['accuracy'] - best) < 1e-6, (judged['accuracy'], best)
    assert sum(map(sum, judged['confusion'])) == 96 and len(seen['test']['worst']) == 32
    assert seen['test']['worst'][0]['probability'] <= seen['test']['best'][-1]['probability']
    assert seen['test']['worst'][0]['image'].startswith('data:image/png;base64,')
    assert sum(one['count'] for one in seen['test']['calibration']['bins']) == 96
    assert seen['previous'] and seen['previous']['path'].startswith('runs/')
    assert json.loads(run('report', 'runs/r', '--light', '--json'))['test'] is None
    assert 'runs/r/report.html' in run('report', 'runs/r')
    run('report', 'nowhere', code=2)


def kill_at(moment, *words):
    training = subprocess.Popen([cortado, 'train', *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(moment)
    alive = training.poll() is None
    training.send_signal(signal.SIGKILL)
    training.wait()
    return alive


def check_kills(rounds=4):
    """As `a`, which nothing interrupted: the same bytes, however often and wherever the run was killed."""
    kills = 0
    for number in range(rounds):
        folder = 'runs/k%d' % number
        words = ['solver.prototxt', '--run=' + folder, '--seed=3', '--set', 'solver.gamma=0.8']
        for _ in range(20):
            killed = kill_at(random.uniform(0.01, 0.35), *words)
            if not os.path.exists(folder + '/run.json'):
                continue
            seen = state(folder)['state']
            assert seen in (('killed', 'new', 'finished') if killed else ('finished',)), (seen, killed)
            kills += seen == 'killed'
            if seen == 'finished':
                break
            words = ['--resume=' + folder]
        run('train', *words)
        assert state(folder)['state'] == 'finished'
        assert weights(folder) == weights('runs/a'), folder
        assert weights(folder, 'small_best.caffemodel') == weights('runs/a', 'small_best.caffemodel'), folder
    assert kills > 0
    print('%d kills seen' % kills)


def check_stop():
    training = subprocess.Popen([cortado, 'train', 'solver.prototxt', '--run=runs/s', '--set',
                                 'solver.max_iter=10000000'], stderr=subprocess.PIPE, text=True)
    while not os.path.exists('runs/s/metrics.jsonl') or '"train"' not in open('runs/s/metrics.jsonl').read():
        time.sleep(0.01)
    seen = state('runs/s')
    assert (seen['state'], seen['pid']) == ('running', training.pid), seen
    run('train', '--resume=runs/s', code=5)
    training.send_signal(signal.SIGTERM)
    said = training.communicate()[1]
    assert training.returncode == 143 and 'to resume: cortado train --resume=runs/s' in said, said[-500:]
    stopped = state('runs/s')
    assert stopped['state'] == 'stopped', stopped
    run('train', '--resume=../runs/s', '--set', 'solver.max_iter=%d' % (stopped['iter'] + 5), cwd='full')
    assert state('runs/s')['state'] == 'finished'
    run('train', 'solver.prototxt', '--run=runs/d', '--set', 'solver.base_lr=1e9', code=7)
    assert state('runs/d')['state'] == 'diverged' and 'diverged at iteration' in state('runs/d')['problem']
    run('train', 'solver.prototxt', '--run=runs/f', '--set', 'net.layer[ip].bottom=nothing', code=3)


def check_comparison():
    run('train', 'solver.prototxt', '--run=runs/b', '--seed=4', '--set', 'solver.max_iter=100')
    said = run('runs', 'compare', 'runs/a', 'runs/b')
    assert '- max_iter: 600' in said and '+ max_iter: 100' in said and '--seed' in said and 'best loss' in said, said
    seen = json.loads(run('runs', 'compare', 'runs/a', 'runs/b', '--json'))
    assert {'name': '--seed', 'a': '3', 'b': '4'} in seen['facts'], seen
    os.mkdir('broken')
    open('broken/run.json', 'w').write('{"schema":1}')
    assert 'is no record' in run('runs', 'compare', 'runs/a', 'broken', code=2)


def check_snapshots():
    listed = json.loads(run('snapshot', 'ls', 'runs/a', '--json'))
    assert [one['iter'] for one in listed][-2:] == [550, 600], listed
    run('snapshot', 'verify', 'runs/a')
    damaged = 'runs/b/snapshots/small_iter_100.caffemodel'
    content = bytearray(open(damaged, 'rb').read())
    content[len(content) // 2] ^= 1
    open(damaged, 'wb').write(content)
    assert 'does not match its checksum' in run('snapshot', 'verify', 'runs/b', code=8)
    run('snapshot', 'prune', 'runs/b/snapshots/small', code=8)
    a = 'runs/a/snapshots/small_iter_600.'
    assert '0 blobs are equal' not in run('snapshot', 'diff', a + 'caffemodel', a + 'solverstate')
    run('snapshot', 'prune', 'runs/a', '--keep-last=1')
    left = {one['iter'] for one in json.loads(run('snapshot', 'ls', 'runs/a', '--json'))}
    assert left == {600, best_iteration('runs/a')}, left
    run('snapshot', 'verify', 'nowhere', code=8)
    run('snapshot', 'list', 'runs/a', code=2)


READ_EVENTS = '''
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1], size_guidance={'scalars': 0, 'histograms': 0, 'images': 0, 'tensors': 0})
events.Reload()
tags = events.Tags()
print(json.dumps({'scalars': {tag: [[e.step, e.value] for e in events.Scalars(tag)] for tag in tags['scalars']},
                  'histograms': {tag: [e.histogram_value.num for e in events.Histograms(tag)]
                                 for tag in tags['histograms']},
                  'images': {tag: [[e.width, e.height] for e in events.Images(tag)] for tag in tags['images']},
                  'tensors': tags['tensors'], 'graph': len(events.Graph().node)}))
'''


def read_events(folder):
    python = os.path.join(venv, 'bin/python')
    done = subprocess.run([python, '-c', READ_EVENTS, folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def check_tensorboard(folder):
    """All that was logged, once for each iteration, however often the run was killed."""
    seen = read_events(folder + '/tb')
    rows = [json.loads(line) for line in open('runs/a/metrics.jsonl')]
    for name, event, key in (('train/loss', 'train', 'loss'), ('train/rate', 'train', 'lr')):
        expected = [[row['iter'], row[key]] for row in rows if row['ev'] == event]
        got = seen['scalars'][name]
        assert [step for step, _ in got] == [step for step, _ in expected], (folder, name, got)
        assert all(abs(a - b) <= 1e-6 * abs(b) for (_, a), (_, b) in zip(got, expected)), (name, got, expected)
    tests = {row['iter']: row['outputs']['loss'] for row in rows if row['ev'] == 'test'}
    assert {step: round(value, 4) for step, value in seen['scalars']['test/loss']} == {
        step: round(value, 4) for step, value in tests.items()}
    assert seen['histograms']['weights/conv/0'][0] == 8 * 3 * 9
    assert set(seen['histograms']) == {kind + '/' + blob for kind in ('weights', 'gradients')
                                       for blob in ('conv/0', 'conv/1', 'ip/0', 'ip/1')}
    assert seen['images']['batch'] and seen['images']['first filters'][0] == [11, 11], seen['images']
    assert seen['graph'] == 6 and 'solver/text_summary' in seen['tensors'], seen['tensors']


def check_torn_events():
    """A record that a death tore is dropped by the reader, and what came before it is all there."""
    path, = glob.glob('runs/a/tb/*')
    content = open(path, 'rb').read()
    os.makedirs('torn')
    for cut in (1, 5, 40):
        with open('torn/' + os.path.basename(path), 'wb') as file:
            file.write(content[:-cut])
        assert read_events('torn')['scalars']['train/loss'] == read_events('runs/a/tb')['scalars']['train/loss']


os.environ['OMP_WAIT_POLICY'] = 'passive'
os.environ['PATH'] = os.path.dirname(cortado) + ':' + os.environ['PATH']
with tempfile.TemporaryDirectory() as place:
    os.chdir(place)
    open('net.prototxt', 'w').write(NET)
    open('solver.prototxt', 'w').write(SOLVER)
    check_folder()
    check_kills()
    check_stop()
    check_comparison()
    if os.path.exists(os.path.join(venv, 'complete')):
        for folder in ('runs/a', 'runs/k0', 'runs/k1'):
            check_tensorboard(folder)
        check_torn_events()
    else:
        print('TensorBoard: left out, there is no', venv)
    check_snapshots()
    check_report()
print('run folders: fine')
