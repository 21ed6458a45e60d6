"""A detector with the page only, in a browser: prepared and trained on a dataset with boxes, to its end; then its
detections on images, drawn as boxes."""
import json, pathlib, subprocess, sys

import pytest

from tests.studio.accessibility import read_page
from tests.studio.pages import by_text, control, open_studio
from tests.studio.studying import FASHION, kill_runs

DRAW = pathlib.Path(__file__).parents[2] / 'scripts/dev/draw_detection_set.py'


@pytest.fixture(scope='module')
def place(cortado, tmp_path_factory):
    """A folder with the dataset data/boxes, and drawn/, its images."""
    if not pathlib.Path(FASHION + 'labels-idx1-ubyte.gz').exists(): pytest.skip('Fashion-MNIST is not installed')
    place = tmp_path_factory.mktemp('studio')
    subprocess.run([sys.executable, DRAW, place / 'drawn', '--train=64', '--test=12'], check=True)
    (place / 'data/boxes').mkdir(parents=True)
    for part in 'train', 'test':
        subprocess.run([cortado, 'convert', 'annoset', 'drawn/', 'drawn/%s.txt' % part, '--encoded',
                        '--label-map-file=drawn/labelmap.prototxt', '-o', 'data/boxes/%s_lmdb' % part], cwd=place,
                       check=True, capture_output=True)
    yield place
    kill_runs(place)


def test_detector(studio, place, browser):
    open_studio(browser, studio, '!!(%s)' % by_text('h1', 'Runs'))
    for step in train, finish, find_objects: step(browser, place)
    assert not browser.complaints, "\n".join(sorted(set(browser.complaints)))


def train(browser, place):
    browser.value('location.hash = "#/new?data=data/boxes"')
    browser.wait_for(by_text('button', 'Prepare'))
    browser.wait_for(control('Name') + '.value === "boxes"')
    assert 'makes a detector' in browser.value('document.querySelector("form [role=status]").textContent')
    assert browser.value('[...%s.options].map(one => one.value)' % control('Net')) == ['', 'ssd_fashion']
    browser.type(control('Epochs'), '12')
    browser.click(by_text('button', 'Prepare'))
    browser.wait_for(by_text('button', 'Start training'), 60)
    assert 'DetectionOutput' in (place / 'trainings/boxes/deploy.prototxt').read_text()
    browser.click(by_text('button', 'Start training'))
    browser.wait_for('location.hash.startsWith("#/run?") && !!document.querySelector(".state")', 60)


def finish(browser, place):
    """The page of a finished run says what is next."""
    browser.wait_for('document.querySelector(".state")?.textContent === "finished"', 120)
    browser.wait_for('document.querySelector(".next")')
    assert browser.value('document.querySelector(".progress-text").textContent').startswith('epoch 12 of 12 ·')
    assert 'best mAP on the test set is 0.' in browser.value('document.querySelector(".next").textContent')
    assert browser.value('document.querySelector(".figures dt").textContent') == 'Best mAP'
    browser.wait_for('document.querySelector("td .state")?.textContent === "best"')
    read_page(browser, 'finished')
    browser.click(by_text('a', 'Try the best weights'))


def find_objects(browser, place):
    browser.wait_for('document.querySelector("input[type=file]") && !(%s).disabled' % control('Weights of'))
    assert browser.value(control('Weights') + '.value') == 'boxes_best.caffemodel'
    (place / 'broken.png').write_bytes(b'\x89PNG\r\n\x1a\nbroken')
    browser.choose_files('input[type=file]', *(place / ('drawn/images/test_0000%d.png' % i) for i in range(3)),
                         place / 'broken.png')
    browser.wait_for('document.querySelectorAll(".boxes").length === 3 && document.querySelector(".bad")')
    set_threshold(browser, 0.05)
    drawn = browser.value('document.querySelectorAll(".boxes .box").length')
    first = browser.value('document.querySelector(".boxes text:last-of-type").textContent')
    listed = browser.value('[...document.querySelector(".scores li").children].map(one => one.textContent).join(" ")')
    assert drawn > 3 and first == listed.strip(), 'the best object is drawn last, above the others'
    set_threshold(browser, 0.15)
    assert 0 < browser.value('document.querySelectorAll(".boxes .box").length') < drawn
    read_page(browser, 'detections')
    set_threshold(browser, 0.95)
    assert browser.value('document.querySelectorAll(".boxes .box").length') == 0
    assert browser.value('document.querySelector(".answer").textContent') == 'no objects above the threshold'


def set_threshold(browser, value):
    browser.value('(() => { const it = %s; it.value = %s; it.dispatchEvent(new Event("input")); })()'
                  % (control('Score of at least'), json.dumps(value)))
