"""Content that is wider than the page: a comparison of many settings, and pictures of a net's inside. read_page() looks
for tables that are cut, pictures that are squashed, and inputs that do not say what they want."""
import json, shutil

import pytest

from tests.studio.accessibility import read_page
from tests.studio.pages import choose, control, open_studio
from tests.studio.studying import add_photos, first_photo, kill_runs

RUNS = ['runs/a', 'runs/a_run_of_lenet_with_augmentation_and_with_more_weight_decay', 'runs/with blanks']
SETTINGS = {'base_lr': '0.00%d', 'momentum': '0.%d', 'weight_decay': '0.000%d', 'display': '%d', 'snapshot': '%d',
            'test_interval': '%d', 'random_seed': '%d', 'max_iter': '%d', 'gamma': '0.%d'}


@pytest.fixture(scope='module')
def place(tmp_path_factory, run):
    place = add_photos(tmp_path_factory.mktemp('studio'), 200, classes=2)
    def cortado(*words): return run(*words, cwd=place, timeout=120)
    (place / 'data').mkdir()
    cortado('convert', 'folder', 'photos', '--output=data/with blanks', '--split=0.3', '--gray')
    cortado('new', 'classifier', '--data=data/with blanks', '--output=trainings/first', '--from=lenet')
    for i, path in enumerate(RUNS, 2):
        cortado('train', 'trainings/first/solver.prototxt', '--run=' + path, '--set=solver.max_epoch=0',
                '--set=solver.warmup_iter=0',
                *('--set=solver.%s=%s' % (name, value % i) for name, value in SETTINGS.items()))
    yield place
    kill_runs(place)


@pytest.fixture
def page(studio, browser):
    open_studio(browser, studio, 'document.querySelectorAll("tbody tr").length === 3')
    yield lambda fragment: browser.value('location.hash = %s' % json.dumps(fragment))
    assert not browser.complaints, '\n'.join(sorted(set(browser.complaints)))


def test_a_wide_comparison(browser, page):
    """The area scrolls to the last column, and the names of runs stay in sight."""
    page('#/compare?' + '&'.join('path=' + path for path in RUNS))
    browser.wait_for('document.querySelectorAll(".chart").length >= 2')
    area, name = 'document.querySelector(".wide")', 'document.querySelector(".compared tbody th")'
    assert browser.value('%s.scrollWidth > %s.clientWidth' % (area, area)), 'the test needs a wide table'
    read_page(browser, 'wide_compare')
    for width in 1280, 390:
        browser.look_like(width, 'light')
        browser.value('%s.scrollLeft = 1e6' % area)
        left, right = browser.value(
            '(() => { const of = (one) => one.getBoundingClientRect(), last = %s.parentElement.lastChild; '
            'return [of(%s).left - of(%s).left, of(last).right - of(%s).right]; })()' % (name, name, area, area))
        assert 0 <= left < 3 and abs(right) < 3, (width, left, right)
    browser.look_like(1280, 'light')


def test_pictures_of_the_inside(browser, page, place):
    page('#/try?run=%s' % RUNS[0])
    browser.wait_for('document.querySelector("input[type=file]")')
    browser.choose_files('input[type=file]', first_photo(place, 'tshirt'))
    browser.wait_for('document.querySelectorAll(".scores li").length === 2')
    choose(browser, 'Activations of', 'conv2')
    choose(browser, 'Weights of', 'conv2')
    browser.wait_for('document.querySelectorAll("img.tiles").length === 2')
    assert browser.value('[...document.querySelectorAll("img.tiles")].some(one => one.naturalWidth > one.clientWidth)')
    read_page(browser, 'inside')


def test_names(browser, page):
    """An input says which names it takes; a suggested name is one of them."""
    page('#/new?' + 'data=data/with%20blanks')
    browser.wait_for('document.querySelector("input[pattern]")?.value === "with_blanks"')
    assert browser.value(control('Name') + '.validity.valid')
    for fragment in '#/datasets', '#/new':
        page(fragment)
        browser.wait_for('document.querySelector("input[pattern]")')
        browser.type(control('Name'), 'my photos')
        assert browser.value(control('Name') + '.validity.patternMismatch')
        rule = browser.value(control('Name') + '.title')
        assert 'letters' in rule and 'no blanks' in rule
        read_page(browser, 'names')
