"""From a folder of JPEGs to a classifier with the page only, in a browser, with the mouse: dataset, net, training, live
curve, stop, resume, another rate, an image. Each page is checked at two widths, light and dark."""
import json, re, shutil

import pytest

from tests.harness.waiting import wait_until
from tests.studio.accessibility import read_page
from tests.studio.pages import by_text, choose, choose_photos, control, open_studio, unexpected
from tests.studio.studying import add_photos, first_photo, kill_runs


@pytest.fixture(scope='module')
def place(tmp_path_factory):
    """A folder with photos of two classes."""
    place = add_photos(tmp_path_factory.mktemp('studio'), classes=2)
    (place / 'solver.prototxt').write_text('net: "nets/lenet.prototxt"\n')
    yield place
    kill_runs(place)


def test_from_photos_to_a_classifier(studio, place, browser):
    open_studio(browser, studio, 'document.querySelector(".panel a")?.textContent === "create a dataset"')
    assert browser.value('location.href') == 'http://127.0.0.1:%d/' % studio.port, 'the token stays in the address'
    read_page(browser, 'empty')
    for step in make_dataset, train, watch, stop_and_resume, try_image, edit_net, compare: step(browser, place)
    assert not unexpected(browser, 499), "\n".join(sorted(set(browser.complaints)))


def make_dataset(browser, place):
    choose_photos(browser)
    browser.type(control('Name'), 'cloths')
    browser.type(control('Side, pixels'), '28')
    browser.click(control('grayscale'))
    browser.click(by_text('button', 'Create dataset'))
    browser.wait_for(by_text('h1', 'data/cloths'))
    browser.click(by_text('summary', 'Samples and augmentation'))
    browser.type(control('Flip horizontally'), '0.5')
    browser.type(control('Rotate, degrees'), '20')
    browser.click(by_text('button', 'Show samples'))
    browser.wait_for('document.querySelector("img.sheet").naturalWidth > 100')
    assert 'rotate: 20' in browser.value('document.querySelector("details[open] pre").textContent')


def iteration(browser):
    """The iteration of the shown run."""
    return browser.value('document.querySelector("progress").value')


def train(browser, place):
    browser.click(by_text('a', 'Train on it'))
    browser.wait_for('!!(%s)' % by_text('h2', 'On a dataset'))
    assert browser.value(control('Dataset') + '.value') == 'data/cloths'
    browser.wait_for(control('Name') + '.value === "cloths"')
    browser.click(by_text('summary', 'More options'))
    read_page(browser, 'new')
    browser.type(control('Name'), 'first')
    choose(browser, 'Net', 'lenet')
    browser.type(control('Epochs'), '3000')
    prepare(browser)
    assert (place / 'trainings/first/solver.prototxt').exists()
    row = '[...document.querySelectorAll("tbody tr")].find(row => row.cells[0].textContent === "max_epoch")'
    assert browser.value(row + '.cells[1].textContent') == '3000' and browser.value(row + '.cells[2].textContent')
    assert re.match(r'Estimated time\d+ (s|min|h)', browser.value('document.querySelector(".figures").textContent'))
    read_page(browser, 'prepared')
    browser.click(by_text('button', 'Change'))
    browser.wait_for(by_text('button', 'Prepare'))
    assert not (place / 'trainings/first').exists(), 'the files are discarded'
    for leave in ("%s.click()" % by_text('nav a', 'Runs'), 'location.reload()'):  # these discard them, too
        fill_and_prepare(browser)
        browser.value(leave)
        wait_until(lambda: not (place / 'trainings/first').exists(), 'the files are discarded')
        browser.value('location.hash = "#/new?data=data/cloths"')
        browser.wait_for(by_text('button', 'Prepare'))
        browser.wait_for(control('Name') + '.value === "cloths"')
    leave_while_it_prepares(browser, place)
    fill_and_prepare(browser)
    browser.click(by_text('button', 'Start training'))
    browser.wait_for('location.hash.startsWith("#/run?") && !!document.querySelector(".state")', 60)


def fill_in(browser):
    browser.type(control('Name'), 'first')
    choose(browser, 'Net', 'lenet')
    browser.type(control('Epochs'), '2000')


def fill_and_prepare(browser):
    """Fills in the first step, and prepares the training."""
    fill_in(browser)
    prepare(browser)


def leave_while_it_prepares(browser, place):
    fill_in(browser)
    browser.click(by_text('button', 'Prepare'))
    wait_until((place / 'trainings/first/.prepared').exists, 'it is being prepared', every=0.005)
    browser.value("%s.click()" % by_text('nav a', 'Runs'))
    wait_until(lambda: not (place / 'trainings/first').exists(), 'the files are discarded')
    browser.value('location.hash = "#/new?data=data/cloths"')
    browser.wait_for(by_text('button', 'Prepare'))
    browser.wait_for(control('Name') + '.value === "cloths"')
    assert not (place / 'trainings/first').exists(), 'it was written later'


def prepare(browser):
    browser.click(by_text('button', 'Prepare'))
    browser.wait_for(by_text('button', 'Start training'), 60)


def watch(browser, place):
    """The curve grows while the page is open."""
    label = 'document.querySelector(".chart svg[role=img]")?.getAttribute("aria-label") || ""'
    browser.wait_for('(%s).includes("training loss ends with")' % label, 60)
    first = browser.value(label)
    browser.wait_for('(%s) !== %s' % (label, json.dumps(first)), 60)
    browser.wait_for('document.querySelector(".figures").textContent.startsWith("Best accuracy")', 60)  # tested once
    assert browser.value('document.querySelector("pre.log").textContent').count('Iteration') > 1
    text = browser.value('document.querySelector(".progress-text").textContent')
    assert re.fullmatch(r'epoch \d+ of 2000 · iteration [\d,]+ of [\d,]+ · about \d+ (s|min) left', text)


def stop_and_resume(browser, place):
    shown = 'document.querySelector(".state").textContent'
    browser.click(by_text('button', 'Stop'))
    browser.wait_for(shown + ' === "stopped"', 60)
    stopped = iteration(browser)
    browser.wait_for('document.querySelectorAll("tbody a[href^=\'#/try\']").length > 0')
    browser.click(by_text('button', 'Resume'))
    browser.wait_for(shown + ' === "running"', 60)
    browser.wait_for('document.querySelector("progress").value > %d' % stopped, 60)
    browser.click(by_text('summary', 'Change settings and resume'))
    browser.type(control('base_lr'), '0.00125')
    browser.type(control('max_epoch'), '1999')
    browser.click(by_text('button', 'Apply and resume'))
    browser.wait_for('document.getElementById("message").textContent.includes("solver.base_lr=0.00125")', 60)
    browser.wait_for('document.querySelector(".progress-text").textContent.includes(" of 1999 ")', 60)
    read_page(browser, 'run')
    browser.click('document.querySelector(".chart-plot")')
    browser.value('document.querySelector(".chart-plot").focus()')
    for key in 'End', 'ArrowLeft', '+': browser.press(key)
    assert 'training loss' in browser.value('document.querySelector(".chart-readout").textContent')
    browser.wait_for('!(%s).hidden' % by_text('button', 'Show all'))
    browser.press('0')
    browser.drag('document.querySelector(".chart-plot")', 0.4, 0.7)
    browser.wait_for('!(%s).hidden' % by_text('button', 'Show all'))
    browser.click(by_text('button', 'Show all'))
    browser.click(by_text('button', 'Stop'))
    browser.wait_for(shown + ' === "stopped"', 60)


def try_image(browser, place):
    browser.click('document.querySelector("tbody a[href^=\'#/try\']")')
    browser.wait_for('document.querySelector("input[type=file]") && !(%s).disabled' % control('Weights of'))
    photo, broken = first_photo(place, 'trouser'), place / 'broken.jpg'
    broken.write_bytes(photo.read_bytes()[:200])
    browser.choose_files('input[type=file]', photo, broken, first_photo(place, 'tshirt'))
    browser.wait_for('document.querySelectorAll(".scores").length === 2 && document.querySelector(".bad")')
    assert browser.value('[...document.querySelectorAll(".scores")].map(one => one.querySelector("span").textContent)'
                         ) == ['trouser', 'tshirt']
    assert browser.value('document.querySelectorAll(".answer")[1].textContent') == \
        'not an image that can be read: the JPEG cannot be decoded: Premature end of JPEG file'
    choose(browser, 'Activations of', 'conv1')
    browser.wait_for('document.querySelector("img.tiles")?.naturalWidth > 100')
    choose(browser, 'Weights of', 'conv1')
    browser.wait_for('document.querySelectorAll("img.tiles").length === 2')
    pictures = 'document.querySelector("img.tiles").src'
    before = browser.value(pictures)
    browser.click('document.querySelectorAll(".image-card .picture")[2]')
    browser.wait_for(pictures + ' !== %s' % json.dumps(before))
    assert browser.value('document.querySelectorAll("[aria-pressed=true]").length') == 1
    read_page(browser, 'try')
    browser.choose_files('input[type=file]', broken)
    browser.wait_for('document.querySelectorAll(".image-card").length === 1 && document.querySelector(".bad")')
    assert browser.value('document.querySelectorAll(".scores, img.tiles").length') <= 1, 'old answers are still shown'


def edit_net(browser, place):
    browser.click(by_text('nav a', 'Nets'))
    browser.wait_for('!!(%s)' % by_text('h2', 'Text'))
    choose(browser, 'From models/', 'lenet')
    browser.wait_for('document.querySelector("[role=status].good")?.textContent.startsWith("no errors")')
    text = browser.value('document.querySelector(".editor textarea").value')
    browser.type('document.querySelector(".editor textarea")', text.replace('num_output: 20', 'num_outptu: 20'))
    browser.wait_for('document.querySelector("mark")?.textContent === "num_outptu"')
    browser.click('document.querySelector(".diagnostics button")')
    chosen = browser.value('(() => { const it = document.querySelector(".editor textarea"); '
                           'return it.value.slice(it.selectionStart, it.selectionEnd); })()')
    assert chosen == 'num_outptu'
    if browser.pictures: read_page(browser, 'error')
    browser.ask('Input.insertText', text='num_output')
    browser.value('document.querySelector("mark")?.textContent')
    browser.type('document.querySelector(".editor textarea")', text.replace('num_output: 20', 'num_output: 24'))
    browser.wait_for('document.querySelectorAll("mark").length === 0 && document.querySelector("[role=status].good")')
    browser.wait_for('document.querySelector(".graph img").naturalWidth > 100')
    browser.click(by_text('button', 'Save'))
    browser.wait_for('document.getElementById("message").textContent.includes("was saved")')
    assert 'num_output: 24' in (place / 'nets/lenet.prototxt').read_text()
    read_page(browser, 'nets')


def compare(browser, place):
    browser.click(by_text('nav a', 'Runs'))
    browser.wait_for('document.querySelector("tbody a")?.textContent === "runs/first"')
    read_page(browser, 'runs')
    shutil.copytree(place / 'runs/first', place / 'runs/second')
    browser.wait_for('document.querySelectorAll("tbody a").length === 2')
    for path in 'first', 'second': browser.click('document.querySelector("[aria-label=\'choose runs/%s\']")' % path)
    browser.click(by_text('a', 'Compare 2'))
    browser.wait_for('document.querySelector(".chart") && document.querySelector(".compared")')
    read_page(browser, 'compare')
