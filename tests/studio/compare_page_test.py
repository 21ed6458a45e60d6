"""Many runs in a browser: the list with its filter and order, the bin, and the comparison of nine runs."""
import json, shutil

import pytest

from tests.studio.accessibility import read_page
from tests.studio.pages import by_text, choose, control, open_studio
from tests.studio.studying import add_photos, kill_runs

RUNS = ['runs/r%d' % i for i in range(9)]


@pytest.fixture(scope='module')
def place(tmp_path_factory, run):
    """Nine finished runs. Each has its own base_lr; the third has another net."""
    place = add_photos(tmp_path_factory.mktemp('studio'), 200, classes=2)
    (place / 'data').mkdir()
    def cortado(*words): return run(*words, cwd=place, timeout=120)
    cortado('convert', 'folder', 'photos', '--output=data/cloths', '--split=0.3', '--gray')
    cortado('new', 'classifier', '--data=data/cloths', '--output=trainings/first', '--from=lenet')
    cortado('train', 'trainings/first/solver.prototxt', '--run=runs/r0', '--set=solver.max_epoch=0',
            '--set=solver.max_iter=4', '--set=solver.warmup_iter=0', '--set=solver.test_interval=2',
            '--set=solver.base_lr=0.001')
    for i, path in enumerate(RUNS[1:], 1):
        shutil.copytree(place / RUNS[0], place / path)
        for name, old, new in (('solver.prototxt', 'base_lr: 0.001', 'base_lr: 0.00%d' % (i + 1)),
                               ('net.prototxt', 'num_output: 50\n', 'num_output: %d\n' % (51 if i == 2 else 50))):
            text = (place / path / name).read_text()
            assert old in text
            (place / path / name).write_text(text.replace(old, new))
    yield place
    kill_runs(place)


@pytest.fixture
def page(studio, browser):
    open_studio(browser, studio, 'document.querySelectorAll("tbody tr").length >= 8')
    yield lambda fragment: browser.value('location.hash = %s' % json.dumps(fragment))
    assert not browser.complaints


def test_comparison(studio):
    runs = studio.post('/api/runs/compare', paths=RUNS[:3])
    assert [one['settings']['base_lr'] for one in runs] == ['0.001', '0.002', '0.003']
    assert {score['name']: score['best'] for score in runs[0]['scores']} == {'accuracy': 'highest', 'loss': 'lowest'}
    assert runs[0]['lowest'] == ['loss'] and studio.get('/api/run', path=RUNS[0])['score']['best'] == 'highest'
    assert [one['net'] for one in runs] == [[], [], ['-     num_output: 50', '+     num_output: 51']]
    assert [score['name'] for score in runs[0]['scores']] == ['accuracy', 'loss']
    assert not any('snapshot_prefix' in one['settings'] or 'net' in one['settings'] for one in runs)
    for paths in [], ['x' * 10] * 51, ['photos']:
        assert studio.ask('POST', '/api/runs/compare', {'paths': paths})[0] in (400, 404), paths


def test_list(browser, page):
    names = '[...document.querySelectorAll("tbody a")].map(one => one.textContent).join()'
    choose(browser, 'Sort', 'name')
    browser.wait_for('%s === %s' % (names, json.dumps(','.join(RUNS))))
    browser.type(control('Filter'), 'R3')
    browser.wait_for('%s === "runs/r3"' % names)
    browser.type(control('Filter'), 'nothing')
    browser.wait_for('document.querySelector("main").innerText.includes("No run matches the filter.")')
    read_page(browser, 'filtered')
    browser.type(control('Filter'), ' ')
    browser.wait_for('document.querySelectorAll("tbody tr").length === 9')
    for path in RUNS: browser.click('document.querySelector("[aria-label=\'choose %s\']")' % path)
    browser.click(by_text('a', 'Compare 9'))
    browser.wait_for('document.querySelectorAll(".compared tbody tr").length === 9')


def test_compared(browser, page):
    """A curve for each of eight runs in every chart, in the colours of the table; another can take a place."""
    page('#/compare?' + '&'.join('path=' + path for path in RUNS))
    browser.wait_for('document.querySelectorAll(".chart").length === 3')
    def colours(selector):
        return browser.value('[...document.querySelectorAll(%s)].map(one => '
                             '/series-./.exec(one.getAttribute("class"))[0]).join()' % json.dumps(selector))
    expected = ','.join('series-%d' % i for i in range(8))
    assert colours('.compared .curve') == expected
    for i in range(1, 4): assert colours('.columns > div:nth-child(%d) .chart-legend .curve' % i) == expected
    heads = browser.value('[...document.querySelectorAll(".compared thead th")].map(one => one.textContent).join()')
    assert heads == 'Curves,Run,State,best accuracy,best loss,Time,base_lr'
    assert browser.value(by_text('summary', 'Net of runs/r2: 2 lines differ from runs/r0') + ' !== undefined')
    box = 'document.querySelector("[aria-label=\'curves of runs/%s\']")'
    assert browser.value(box % 'r8' + '.disabled'), 'eight have curves'
    browser.click(box % 'r1')
    browser.wait_for('!(%s).disabled' % (box % 'r8'))
    assert colours('.compared .curve') == expected.replace('series-1,', ''), 'the others keep their colours'
    browser.click(box % 'r8')
    browser.wait_for('document.querySelectorAll(".compared .curve").length === 8')
    assert colours('.compared .curve').endswith('series-7,series-1')
    read_page(browser, 'compare')
    browser.click('document.querySelector("[aria-label=\'Leave out runs/r0\']")')
    browser.wait_for('document.querySelectorAll(".compared tbody tr").length === 8')
    choose(browser, 'Add a run', 'runs/r0')
    browser.wait_for('document.querySelectorAll(".compared tbody tr").length === 9')


def test_delete_runs(browser, page, place):
    for path in 'runs/r7', 'runs/r8': browser.click('document.querySelector("[aria-label=\'choose %s\']")' % path)
    browser.click(by_text('button', 'Delete 2'))
    browser.wait_for(by_text('dialog[open] h2', 'Delete 2 items?'))
    browser.click(by_text('dialog[open] button', 'Delete'))
    browser.wait_for('document.querySelectorAll("tbody tr").length === 7')
    assert not (place / 'runs/r7').exists() and len(list((place / '.studio/bin').glob('*-r[78]'))) == 2
