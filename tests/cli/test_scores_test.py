"""The scores of `cortado test` and of a solver's tests equal counts that this file computes. Images, weights and labels
are integers, so that every score is exact. The dataset is sorted by class, so that batches lack classes."""
import collections, json, math, os, pty, re, subprocess, tempfile

import pytest

from tests.cli import fixtures

CLASSES, BATCH, PIXELS = 5, 8, 16
COUNTS = [9, 5, 11, 4, 0]  # samples of each class; the last class has none; 29 samples are 3 batches and 5 more
NAMES = ['ant', 'bee', 'cat', 'dog', 'elk']
IGNORED = 1

NET = '''name: "scores"
layer { name: "data" type: "Data" top: "data" top: "label"
  data_param { source: "sorted_lmdb" batch_size: 8 backend: LMDB } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: %(outputs)d } }
layer { name: "best" type: "Accuracy" bottom: "ip" bottom: "label" top: "acc" top: "each" include { phase: TEST } }
layer { name: "some" type: "Accuracy" bottom: "ip" bottom: "label" top: "acc_some" top: "each_some"
  include { phase: TEST } accuracy_param { ignore_label: 1 } }
layer { name: "top3" type: "Accuracy" bottom: "ip" bottom: "label" top: "acc3" top: "each3" include { phase: TEST }
  accuracy_param { top_k: 3 } }
layer { name: "small" type: "Power" bottom: "ip" top: "small" power_param { scale: 0.0009765625 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "small" bottom: "label" top: "loss"
  loss_param { ignore_label: 1 } }
'''
FILTERED = '''
layer { name: "filter" type: "Filter" bottom: "ip" bottom: "label" bottom: "label" top: "few" top: "few_labels" }
layer { name: "few_acc" type: "Accuracy" bottom: "few" bottom: "few_labels" top: "acc_few" top: "each_few"
  include { phase: TEST } }
'''
SOLVER = '''net: "net.prototxt" base_lr: 0 lr_policy: "fixed" max_iter: 2 display: 0 random_seed: 1
snapshot_after_train: false test_interval: 1 snapshot_prefix: "own" weights: "net.caffemodel" solver_mode: CPU
'''


class Set:
    """The samples, their scores, and the expected results."""

    def __init__(self):
        draw = fixtures.random.Random(5)
        self.labels = [c for c, n in enumerate(COUNTS) for _ in range(n)]
        images = [[draw.randrange(256) for _ in range(PIXELS)] for _ in self.labels]
        weights = [[draw.randrange(-8, 9) for _ in range(PIXELS)] for _ in range(CLASSES)]
        for image, label in zip(images, self.labels):  # half of them are easy
            if draw.random() < 0.5: image[:] = [255 * (w > 0) for w in weights[label]]
        self.scores = [[sum(w * p for w, p in zip(row, image)) for row in weights] for image in images]
        self.taken = [scores.index(max(scores)) for scores in self.scores]
        self.weights = weights
        self.write(images)

    def write(self, images):
        head = fixtures.struct.pack('>iiii', 2051, len(images), 4, 4)
        fixtures.write('images', head + b''.join(map(bytes, images)))
        fixtures.write('labels', fixtures.struct.pack('>ii', 2049, len(images)) + bytes(self.labels))
        fixtures.cortado('convert', 'idx', 'images', 'labels', '-o', 'sorted_lmdb', '--force')
        self.write_weights(CLASSES)

    def write_weights(self, outputs):
        """Classes beyond CLASSES have a large negative bias, so that they are never predicted."""
        w = [float(v) for row in self.weights for v in row] + [0.0] * (PIXELS * (outputs - CLASSES))
        b = [0.0] * CLASSES + [-1e6] * (outputs - CLASSES)
        fixtures.caffemodel('net.caffemodel', fixtures.layer_weights(
            'ip', 'InnerProduct', fixtures.blob([outputs, PIXELS], w), fixtures.blob([outputs], b)))

    def parts(self, samples, top_k=1, ignore=None, only=None):
        """The numbers of correct and of counted samples."""
        counted = [i for i in samples if self.labels[i] != ignore and (only is None or self.labels[i] == only)]
        right = [i for i in counted if sum(s >= self.scores[i][self.labels[i]] for s in self.scores[i]) <= top_k]
        return len(right), len(counted)

    def loss_parts(self, samples):
        total, counted = 0.0, 0
        for i in samples:
            if self.labels[i] == IGNORED: continue
            x = [s / 1024 for s in self.scores[i]]
            total += math.log(sum(math.exp(v - max(x)) for v in x)) + max(x) - x[self.labels[i]]
            counted += 1
        return total, counted

    def all_parts(self, samples, filtered=False):
        """output -> parts() of each of its elements."""
        kinds = {'acc': {}, 'acc_some': {'ignore': IGNORED}, 'acc3': {'top_k': 3}}
        if filtered: kinds['acc_few'] = {'ignore': 0}
        out = {'loss': [self.loss_parts(samples)]}
        for name, options in kinds.items():
            out[name] = [self.parts(samples, **options)]
            out[name.replace('acc', 'each')] = [self.parts(samples, only=c, **options) for c in range(CLASSES)]
        return out


def ratio(parts): return parts[0] / parts[1] if parts[1] else 0.0

def exact(truth, samples, **options):
    return {name: [ratio(p) for p in parts] for name, parts in truth.all_parts(samples, **options).items()}

def means(truth, batches, **options):
    """Caffe's scores: unweighted means of the batches' values."""
    sums = collections.defaultdict(lambda: [0.0] * CLASSES)
    for batch in batches:
        for name, values in exact(truth, batch, **options).items():
            sums[name] = [s + v / len(batches) for s, v in zip(sums[name], values)]
    return dict(sums)

def close(actual, expected, what):
    actual = actual if isinstance(actual, list) else [actual]
    assert len(actual) == len(expected), (what, actual, expected)
    for a, e in zip(actual, expected): assert abs(a - e) <= 2e-5 * max(1, abs(e)), (what, actual, expected)

@pytest.fixture(scope='module')
def truth(training_folder):
    """The dataset, in the current folder."""
    place = training_folder()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place.name)
        yield Set()


@pytest.fixture(autouse=True)
def scored_net(truth):
    """Writes the net and its weights."""
    write('net.prototxt', NET % {'outputs': CLASSES})
    truth.write_weights(CLASSES)


@pytest.fixture
def score(run):
    """score('--epoch') tests the net."""
    return lambda *flags, **more: run('test', 'net.prototxt', '--weights=net.caffemodel', *flags, **more)

def write(name, text): fixtures.write(name, text.encode())

def on_terminal(*words):
    """Runs with stderr on a terminal; returns the exit code, stderr and stdout."""
    ours, theirs = pty.openpty()
    with tempfile.TemporaryFile('w+') as out:
        process = subprocess.Popen(['cortado', *words], stderr=theirs, stdout=out,
                                   env={**os.environ, 'COLUMNS': '60', 'TERM': 'xterm'})
        os.close(theirs)
        shown = b''
        while True:
            try: part = os.read(ours, 65536)
            except OSError: break  # the other end is closed
            if not part: break
            shown += part
        os.close(ours)
        code = process.wait()
        out.seek(0)
        return code, shown.decode(), out.read()

def all_samples(truth): return range(len(truth.labels))
def first_batches(n): return [range(b * BATCH, (b + 1) * BATCH) for b in range(n)]

KEYS = ['iterations', 'samples', 'loss', 'outputs', 'counts', 'batch_means', 'classifications']
CLASSIFICATION_KEYS = ['layer', 'scores', 'labels', 'samples', 'accuracy', 'classes', 'confusion', 'mistaken']
CLASS_KEYS = ['class', 'name', 'samples', 'predicted', 'right', 'recall', 'precision']

def check_classification(truth, report, samples, names):
    [of] = report['classifications']
    assert list(of) == CLASSIFICATION_KEYS and (of['layer'], of['scores'], of['labels']) == ('best', 'ip', 'label'), of
    pairs = collections.Counter((truth.labels[i], truth.taken[i]) for i in samples)
    assert of['confusion'] == [[pairs[t, p] for p in range(CLASSES)] for t in range(CLASSES)]
    right = sum(n for (t, p), n in pairs.items() if t == p)
    assert of['samples'] == len(samples) and abs(of['accuracy'] - right / len(samples)) < 1e-12
    for c, entry in enumerate(of['classes']):
        assert list(entry) == CLASS_KEYS and entry['class'] == c and entry['name'] == names[c], entry
        true = sum(n for (t, p), n in pairs.items() if t == c)
        taken = sum(n for (t, p), n in pairs.items() if p == c)
        assert (entry['samples'], entry['predicted'], entry['right']) == (true, taken, pairs[c, c])
        assert entry['recall'] == (pairs[c, c] / true if true else None)
        assert entry['precision'] == (pairs[c, c] / taken if taken else None)
    wrong = sorted((-n, t, p) for (t, p), n in pairs.items() if t != p)
    assert [(-m['count'], m['true'], m['predicted']) for m in of['mistaken']] == wrong

@pytest.mark.parametrize('device', ['--cpu', '--gpu=simulated'])
def test_json_report_is_exact(truth, score, device):
    report = json.loads(score('--epoch', '--json', '--threads=1', device).stdout)
    assert list(report) == KEYS and report['iterations'] == 4 and report['samples'] == 29
    expected = exact(truth, all_samples(truth))
    assert set(report['outputs']) == set(expected) == set(report['counts']) == set(report['batch_means'])
    for name, values in expected.items(): close(report['outputs'][name], values, name)
    for name, parts in truth.all_parts(all_samples(truth)).items():
        close(report['counts'][name], [p[1] for p in parts], name)
    close(report['loss'], expected['loss'], 'loss')
    check_classification(truth, report, all_samples(truth), [''] * CLASSES)
    report = json.loads(score('--iterations=3', '--json', '--threads=1', device).stdout)
    for name, values in exact(truth, range(24)).items(): close(report['outputs'][name], values, name)
    for name, values in means(truth, first_batches(3)).items(): close(report['batch_means'][name], values, name)
    check_classification(truth, report, range(24), [''] * CLASSES)

@pytest.mark.parametrize('device', ['--cpu', '--gpu=simulated'])
def test_filtered_rows_are_scored(truth, score, device):
    write('net.prototxt', NET % {'outputs': CLASSES} + FILTERED)
    report = json.loads(score('--epoch', '--json', device).stdout)
    expected = exact(truth, all_samples(truth), filtered=True)
    for name, values in expected.items(): close(report['outputs'][name], values, name)
    few = report['classifications'][1]
    assert (few['layer'], few['samples']) == ('few_acc', sum(COUNTS[1:])), few['layer']

def lines_of(text):
    """The log's messages without their prefixes."""
    return [line.split('] ', 1)[1] for line in text.split('\n') if re.match(r'I\d{4} ', line)]

def test_log_lines_are_batches_and_their_means(truth, score):
    done = score('--iterations=3')
    assert done.stdout.startswith('24 samples in 3 batches\n'), done.stdout
    lines = lines_of(done.stderr)
    for b, batch in enumerate(first_batches(3)):
        for name, values in exact(truth, batch).items():
            shown = [float(l.split(' = ')[1]) for l in lines if l.startswith('Batch %d, %s = ' % (b, name))]
            close(shown, values, name)
    for name, values in means(truth, first_batches(3)).items():
        close([float(l.split(' = ')[1].split(' ')[0]) for l in lines if l.startswith(name + ' = ')], values, name)
    logged = dict(l.removeprefix('Of all samples together: ').split(' = ') for l in lines
                  if l.startswith('Of all samples'))
    averages, right = means(truth, first_batches(3)), exact(truth, range(24))
    differ = {(name, c) for name in right for c in range(len(right[name]))
              if abs(right[name][c] - averages[name][c]) > 1e-4}
    label = lambda name, c: name if len(right[name]) == 1 else '%s[%d]' % (name, c)
    assert set(logged) == {label(*d) for d in differ} and ('each', 1) in differ, logged
    for name, c in differ: close(float(logged[label(name, c)]), [right[name][c]], name)
    lines = lines_of(score('--epoch').stderr)
    for name, values in exact(truth, all_samples(truth)).items():
        close([float(l.split(' = ')[1].split(' ')[0]) for l in lines if l.startswith(name + ' = ')], values, name)
    assert not any(l.startswith('Of all samples') for l in lines), 'the scores are of all samples already'

def test_each_record_counts_once_by_default(truth, score, run):
    assert score('--json').stdout == score('--epoch', '--json').stdout
    assert score().stdout == score('--epoch').stdout
    quiet = score('-q')
    assert quiet.stdout == score().stdout and quiet.stderr == ''
    softmax = 'layer { name: "prob" type: "Softmax" bottom: "ip" top: "prob" }'
    write('net.prototxt', NET % {'outputs': CLASSES} + softmax)
    done = score()
    assert "output 'prob' has values for each sample" in done.stderr and 'the last 5 of 29 records' in done.stderr
    assert done.stdout.startswith('24 samples in 3 batches\n')


def test_caffe_tests_fifty_batches_and_logs_only(truth, run, cortado):
    caffe = os.path.join(os.path.dirname(cortado), 'caffe')
    for flags, batches in ((), 50), (('-iterations', '2'), 2):
        done = run('test', '-model=net.prototxt', '-weights=net.caffemodel', *flags, program=caffe)
        assert done.stdout == '' and 'Running for %d iterations.' % batches in done.stderr

def test_terminal_shows_tables_of_classes(truth):
    write('labels.txt', '\n'.join(NAMES) + '\n')  # next to the dataset
    code, shown, out = on_terminal('test', 'net.prototxt', '--weights=net.caffemodel', '--epoch')
    assert code == 0 and 'Batch ' not in shown, shown
    lines = [l for l in out.split('\n') if l]
    assert lines[0] == '29 samples in 4 batches', lines
    each = exact(truth, all_samples(truth))['each']
    for c, name in enumerate(NAMES):
        row = [l.split() for l in lines if l.startswith('%d %s ' % (c, name))]
        assert len(row) == 2, 'a table of classes and a matrix: %s' % row
        assert row[0][2] == str(COUNTS[c]) and row[0][3] == ('%.4f' % each[c] if COUNTS[c] else '-'), row
        pairs = collections.Counter(t for t, l in zip(truth.taken, truth.labels) if l == c)
        assert row[1][2:] == [str(pairs[p] or '.') for p in range(CLASSES)], row
    assert all(len(l) <= 60 for l in lines), lines
    code, shown, out = on_terminal('test', 'net.prototxt', '--weights=net.caffemodel', '--epoch', '-v')
    assert 'Batch 3, acc = ' in shown
    os.remove('labels.txt')

def test_labels_name_the_classes(truth, score):
    write('names', '\n'.join(NAMES) + '\n')
    assert '2 cat' in score('--epoch', '--labels=names').stdout
    report = json.loads(score('--epoch', '--labels=names', '--json').stdout)
    check_classification(truth, report, all_samples(truth), NAMES)
    write('names', 'ant\nbee\n')
    assert 'has 2 names, but the net has 5 classes' in score('--labels=names', code=4).stderr

def test_many_classes_are_listed_by_confusion(truth, score):
    """A matrix that is too wide becomes a list of its most frequent confusions."""
    truth.write_weights(1200)
    write('net.prototxt', NET % {'outputs': 1200})
    write('names', ''.join('n%d\n' % c for c in range(1200)))
    out = score('--epoch', '--labels=names').stdout
    assert len(out.split('\n')) < 60 and 'true \\ predicted' not in out, out[:3000]
    pairs = collections.Counter(p for p in zip(truth.labels, truth.taken) if p[0] != p[1])
    (t, p), n = min(pairs.items(), key=lambda item: (-item[1], item[0]))
    first = out.split('predicted')[1].split('\n')[1].split()
    assert first == [str(t), 'n%d' % t, str(p), 'n%d' % p, str(n), str(COUNTS[t])], first
    [of] = json.loads(score('--epoch', '--json').stdout)['classifications']
    assert of['confusion'] is None and len(of['classes']) == 1200 and len(of['mistaken']) == len(pairs)

def test_classes_of_nets_without_accuracy_outputs(truth, score):
    """The table of classes also appears with a silenced Accuracy and with a loss only."""
    quiet = 'layer { name: "quiet" type: "Silence" bottom: "acc" bottom: "each" include { phase: TEST } }\n'
    loss = re.sub(r'layer \{ name: "(best|some|top3)".*\n( .*\n)?', '', NET)
    loss = loss.replace(' loss_param { ignore_label: 1 }', '')
    for net in (NET + quiet, loss):
        write('net.prototxt', net % {'outputs': CLASSES})
        report = json.loads(score('--epoch', '--json').stdout)
        pairs = collections.Counter(zip(truth.labels, truth.taken))
        expected = [[pairs[t, p] for p in range(CLASSES)] for t in range(CLASSES)]
        assert [of['confusion'] for of in report['classifications']] == [expected], report['classifications']

def test_tests_of_a_solver(truth, run):
    """Tests by iterations log Caffe's means, and a note once; tests by epoch score the dataset."""
    def tests(options):
        write('solver.prototxt', SOLVER + options)
        log = run('train', 'solver.prototxt').stderr
        first = log.split('Testing net (#0)')[1]
        return log, {name: [float(v) for v in re.findall(r'Test net output #\d+: %s = (\S+)' % name, first)]
                             for name in exact(truth, range(8))}
    log, scores = tests('test_iter: 3')
    for name, values in means(truth, first_batches(3)).items(): close(scores[name], values, name)
    notes = re.findall('means over batches, as in Caffe. Over all samples (.*)', log)
    assert len(notes) == 1, 'once: %s' % notes
    right, averages = exact(truth, range(24))['each'], means(truth, first_batches(3))['each']
    for c, value in re.findall(r'each\[(\d)\] is (\S+) \(not', notes[0]): close(float(value), [right[int(c)]], 'note')
    assert 'each[0] is' in notes[0] and abs(right[0] - averages[0]) > 0.1, notes
    log, scores = tests('test_epoch: true')
    for name, values in exact(truth, all_samples(truth)).items(): close(scores[name], values, name)
    assert 'means over batches' not in log
