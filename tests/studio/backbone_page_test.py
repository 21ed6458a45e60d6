"""The whole story in a browser, from a folder of colour photos and a trained net: a dataset, the estimate, fine-tuning
with a live curve, a stop, a resume, the report, and several images, one of them damaged. Needs the weights that
scripts/fetch_backbone.sh fetches."""
import pathlib, re

import pytest

from tests.studio.accessibility import read_page
from tests.studio.pages import by_text, choose, choose_photos, control, open_studio
from tests.studio.studying import add_photos, kill_runs

NET = 'efficientnet_lite0'
PARTS = {'tshirt': (40, 90, 200), 'trouser': (60, 160, 60), 'pullover': (180, 80, 60)}  # colours of classes, B G R


@pytest.fixture(scope='module')
def place(source, tmp_path_factory):
    """Colour photos of 96 x 96 in three classes, and a damaged one."""
    import cv2
    if not (pathlib.Path(source) / 'models' / NET / (NET + '.caffemodel')).exists():
        pytest.skip('scripts/fetch_backbone.sh has not fetched the weights')
    place = add_photos(tmp_path_factory.mktemp('studio'), count=240, classes=3)
    for name, colour in PARTS.items():
        for path in (place / 'photos' / name).iterdir():
            grey = cv2.resize(cv2.imread(str(path), cv2.IMREAD_GRAYSCALE), (96, 96), interpolation=cv2.INTER_CUBIC)
            cv2.imwrite(str(path), cv2.merge([(grey / 255 * part).astype('uint8') for part in colour]))
    (place / 'damaged.jpg').write_bytes(next((place / 'photos/tshirt').iterdir()).read_bytes()[:300])
    yield place
    kill_runs(place)


def test_from_photos_to_a_fine_tuned_net(studio, place, browser):
    open_studio(browser, studio, 'document.querySelector(".panel a")')
    for step in make_dataset, prepare, watch, stop_and_resume, read_report, try_images: step(browser, place)
    assert not browser.complaints, '\n'.join(sorted(set(browser.complaints)))


def make_dataset(browser, place):
    choose_photos(browser)
    browser.type(control('Name'), 'clothes')
    browser.type(control('Side, pixels'), '96')
    browser.click(by_text('button', 'Create dataset'))
    browser.wait_for(by_text('h1', 'data/clothes'), 60)
    read_page(browser, 'story_dataset')


def prepare(browser, place):
    browser.click(by_text('a', 'Train on it'))
    browser.wait_for(by_text('button', 'Prepare'))
    browser.wait_for(control('Name') + '.value === "clothes"')
    offered = browser.value('[...%s.options].map(one => one.textContent)' % control('Net'))
    assert offered[1].startswith(NET + ', with trained weights'), offered
    choose(browser, 'Net', NET)
    browser.type(control('Epochs'), '40')
    browser.click(by_text('button', 'Prepare'))
    browser.wait_for(by_text('button', 'Start training'), 60)
    choices = dict(browser.value('[...document.querySelectorAll("tbody tr")].map(row => [...row.cells].slice(0, 2).map('
                                 'cell => cell.textContent))'))
    assert choices['trunk'] == 'frozen' and choices['weights'].endswith(NET + '.caffemodel'), choices
    assert re.match(r'Estimated time\d+ (s|min)', browser.value('document.querySelector(".figures").textContent'))
    read_page(browser, 'story_prepared')
    browser.click(by_text('button', 'Start training'))
    browser.wait_for('location.hash.startsWith("#/run?") && !!document.querySelector(".state")', 60)


def watch(browser, place):
    browser.wait_for('document.querySelector(".figures")?.textContent.startsWith("Best accuracy")', 120)
    assert re.fullmatch(r'epoch \d+ of 40 · iteration [\d,]+ of [\d,]+ · about \d+ (s|min) left',
                        browser.value('document.querySelector(".progress-text").textContent'))


def stop_and_resume(browser, place):
    shown = 'document.querySelector(".state").textContent'
    browser.click(by_text('button', 'Stop'))
    browser.wait_for(shown + ' === "stopped"', 60)
    stopped = browser.value('document.querySelector("progress").value')
    browser.click(by_text('button', 'Resume'))
    browser.wait_for(shown + ' === "running" && document.querySelector("progress").value > %d' % stopped, 60)
    read_page(browser, 'story_run')
    browser.wait_for(shown + ' === "finished"', 300)
    browser.wait_for('document.querySelector(".next")')
    figures = browser.value('document.querySelector(".figures").textContent')
    assert float(re.match(r'Best accuracy([\d.]+)', figures)[1]) > 0.9, 'three garments in three colours'
    read_page(browser, 'story_finished')


def read_report(browser, place):
    target = browser.value('[...document.querySelectorAll("a, button")].find(one => one.textContent.trim() === '
                           '"Report").href')
    page = browser.value('location.href')
    browser.open(target)
    browser.wait_for('document.querySelector("#test-set .chart svg, #test-set table")', 60)
    read_page(browser, 'story_report')
    if browser.pictures:  # of the part that shows most
        browser.value('document.querySelectorAll("section:not(#test-set)").forEach(one => { one.hidden = true; })')
        read_page(browser, 'story_test_set')
    browser.open(page)
    browser.wait_for(by_text('a', 'Try the best weights'))


def try_images(browser, place):
    browser.click(by_text('a', 'Try the best weights'))
    browser.wait_for('document.querySelector("input[type=file]") && !(%s).disabled' % control('Weights of'), 60)
    photos = [min((place / 'photos' / name).iterdir()) for name in PARTS]
    browser.choose_files('input[type=file]', *photos, place / 'damaged.jpg')
    browser.wait_for('document.querySelectorAll(".scores").length === 3 && document.querySelector(".bad")', 60)
    firsts = browser.value('[...document.querySelectorAll(".scores")].map(one => one.children[0].textContent)')
    assert all(name in first for name, first in zip(PARTS, firsts)), firsts
    read_page(browser, 'story_try')
