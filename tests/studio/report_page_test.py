"""The pages that the program writes as files, in a browser: the reports of a classifier and of a detector, a comparison
of runs, and the picture of `cortado tune`. Each page is checked at two widths, light and dark; the reports' numbers are
read back and compared with the test sets."""
import json, re, subprocess, sys

import pytest

from tests.studio.accessibility import read_page
from tests.studio.studying import add_photos

DETECTIONS = 24  # test images of the detector


@pytest.fixture(scope='module')
def runs(tmp_path_factory, run, source):
    """A folder with a run of a classifier, two of them with other settings, and one of a detector."""
    place = tmp_path_factory.mktemp('reports')
    def here(*words, **options): return run(*words, cwd=place, **options)
    here('convert', 'folder', add_photos(place, count=600) / 'photos', '-o', 'data', '--split=0.2')
    here('new', 'classifier', '--data=data', '--from=%s/models/lenet/train_val.prototxt' % source, '-o', 'cls',
         '--epochs=3')
    here('train', 'cls/solver.prototxt', '--run=runs/first', '--set', 'solver.base_lr=0.01')
    here('train', 'cls/solver.prototxt', '--run=runs/second', '--set', 'solver.base_lr=0.002', '--set',
         'net.layer[conv2].convolution_param.num_output=20')
    subprocess.run([sys.executable, source + '/scripts/dev/draw_detection_set.py', 'boxes', '--train=200',
                    '--test=%d' % DETECTIONS], cwd=place, check=True)
    here('convert', 'annoset', 'boxes/', 'boxes/train.txt', '-o', 'sets/train_lmdb', '--encoded')
    here('convert', 'annoset', 'boxes/', 'boxes/test.txt', '-o', 'sets/test_lmdb', '--encoded',
         '--label-map-file=sets/train_lmdb.labelmap.prototxt')
    here('new', 'detector', '--data=sets', '--from=%s/models/ssd_fashion/train_val.prototxt' % source, '-o', 'det',
         '--epochs=8', '--batch=4')
    here('train', 'det/solver.prototxt', '--run=runs/detector', timeout=None)  # minutes under ThreadSanitizer
    return place


@pytest.fixture
def look(runs, browser):
    """look(path) opens a page of the folder, checks it with all details open, and returns its numbers."""
    def look(path):
        browser.listen()
        browser.look_like(1280, 'light')
        browser.open((runs / path).as_uri())
        browser.wait_for('location.href.endsWith(%s) && document.querySelector(".chart svg")' % json.dumps(path))
        browser.value('document.querySelectorAll("details").forEach(one => { one.open = true; })')
        read_page(browser, path.replace('/', '_').removesuffix('.html'))
        assert not browser.complaints
        return json.loads(browser.value('document.getElementById("numbers").textContent'))
    return look


def shares_of(report):
    """The layers' shares of the time."""
    return [one['share'] for one in report['times']['layers']]


def headings(browser):
    return browser.value('[...document.querySelectorAll("h2")].map(one => one.textContent)')


def test_report_of_a_classifier(runs, browser, look, run):
    report = look('runs/first/report.html')
    assert headings(browser) == ['Settings', 'Curves', 'Test set', 'Layers', 'Time', 'Environment']
    test = report['test']
    count = int(re.search(r'test_lmdb: (\d+) records', run('data', 'stats', 'data/test_lmdb', cwd=runs).stdout)[1])
    assert test['samples'] == test['records'] == count and test['limit'] == ''
    assert test['wrong_total'] + test['right_total'] == count
    judged = test['classifications'][0]
    assert test['right_total'] == sum(judged['confusion'][k][k] for k in range(len(judged['confusion'])))
    assert all(one['guesses'][0][0] != one['truth'] for one in test['wrong'])
    assert all(one['guesses'][0][0] == one['truth'] for one in test['unsure'])
    confident, unsure = ([one['guesses'][0][1] for one in test[kind]] for kind in ('wrong', 'unsure'))
    assert confident == sorted(confident, reverse=True) and unsure == sorted(unsure)
    assert all(0 <= share <= 1 for share in shares_of(report)) and abs(sum(shares_of(report)) - 1) < 1e-6
    assert ['base_lr', '0.01', ''] in report['settings']
    picture = 'document.querySelector(".net img")'
    assert browser.value(picture + '.naturalWidth') > 100 and 'layers' in browser.value(picture + '.alt')


def test_of_many_curves_eight_are_shown(runs, browser, look):
    look('runs/detector/report.html')
    norms = ('[...document.querySelectorAll(".chart")].find(one => one.querySelector("figcaption").textContent === '
             '"Norms of weights")')
    shown = norms + '.querySelectorAll(".chart-plot .curve").length'
    boxes = '[...%s.querySelectorAll(".chart-choice input")]' % norms
    assert browser.value(shown) == 8 and browser.value(boxes + '.length') > 8
    assert browser.value(boxes + '.filter(one => one.disabled).length') == browser.value(boxes + '.length') - 8
    browser.click(boxes + '[0]')
    assert browser.value(shown) == 7 and browser.value(boxes + '.filter(one => one.disabled).length') == 0
    browser.click(boxes + '[8]')
    assert browser.value(shown) == 8
    colours = '[...%s.querySelectorAll(".chart-legend line")].map(one => one.getAttribute("class"))' % norms
    assert len(set(browser.value(colours))) == 8


def test_report_of_a_detector(runs, browser, look):
    report = look('runs/detector/report.html')
    test = report['test']
    assert test['samples'] == test['records'] == DETECTIONS
    precisions = [one['average_precision'] for one in test['detection']]
    assert abs(test['mean_average_precision'] - sum(precisions) / len(precisions)) < 1e-6
    assert all(0 <= share <= 1 for share in precisions + shares_of(report))
    names = set(re.findall(r'display_name: "(\w+)"', (runs / 'sets/test_lmdb/labelmap.prototxt').read_text()))
    assert {one['name'] for one in test['detection']} <= names
    annotations = (runs / 'boxes/annotations').glob('test_*.xml')
    assert sum(one['objects'] for one in test['detection']) == sum(
        path.read_text().count('<object>') for path in annotations)
    false, missed = test['false_detections'], test['missed_objects']
    assert missed and all(any(not found['right'] for found in one['detections']) for one in false)
    counts = [sum(not thing['found'] for thing in one['objects']) for one in missed]
    assert min(counts) > 0 and counts == sorted(counts, reverse=True)
    plates = browser.value('[...document.querySelectorAll(".box.missed span")].map(one => one.textContent)')
    assert set(plates) <= names and len(plates) >= sum(counts)


def test_comparison_of_runs(runs, run, browser, look):
    run('runs', 'compare', 'runs/first', 'runs/second', 'runs/detector', '-o', 'runs.html', cwd=runs)
    numbers = look('runs.html')
    rates, = [one['values'] for one in numbers['settings'] if one['name'] == 'base_lr']
    assert rates[:2] == ['0.01', '0.002'] and len(rates) == 3
    legend = browser.value('[...document.querySelectorAll(".chart-legend button")].map(one => one.textContent)')
    assert {'runs/first: loss', 'runs/second: loss', 'runs/detector: loss'} <= set(legend)


def test_picture_of_a_tuning(runs, run, browser, look):
    run('tune', 'cls/solver.prototxt', '--iterations=100', '--threads=1', '--set', 'solver.base_lr=0.00001',
        cwd=runs)
    numbers = look('cls/tuned.html')
    assert [mark['label'] for mark in numbers['marks']] == ["the solver's rate", 'the rate found']
    assert browser.value('document.querySelectorAll(".chart .guide").length') == 2
    assert numbers['result'].startswith('Better: after 100 iterations the loss is ')
    rates = [rate for rate, _ in numbers['losses']]
    assert rates == sorted(rates) and rates[0] <= 1e-6 * 1.01
