"""The editor of nets and solvers, in a browser: line numbers, errors with carets, drafts, and nothing overwritten
without a question."""
import json

import pytest

from tests.studio.accessibility import read_page
from tests.studio.pages import by_text, control, open_studio, unexpected

NET = 'name: "small"\nlayer {\n  name: "data"\n  type: "Input"\n  top: "data"\n' \
      '  input_param { shape { dim: 1 dim: 4 } }\n}\n'
AREA = 'document.querySelector(".editor textarea")'
NOTE = 'document.querySelector(".note.row")?.textContent || ""'


@pytest.fixture(scope='module')
def place(tmp_path_factory):
    return tmp_path_factory.mktemp('studio')


@pytest.fixture
def file(place):
    """A net in the folder."""
    (place / 'nets').mkdir(exist_ok=True)
    (place / 'nets/small.prototxt').write_text(NET)
    (place / 'nets/other.prototxt').write_text(NET.replace('small', 'other'))
    return place / 'nets/small.prototxt'


@pytest.fixture
def show(studio, browser, file):
    """Opens the net in the editor; at the end its drafts are dropped, and there must be no error in the console."""
    open_studio(browser, studio)
    def show(path='nets/small.prototxt'):
        browser.value('location.hash = %s' % json.dumps('#/runs'))
        browser.wait_for(by_text('h1', 'Runs'))
        browser.value('location.hash = %s' % json.dumps('#/nets?path=' + path))
        browser.wait_for(AREA + '?.value.length > 0')
    show()
    yield show
    browser.value('sessionStorage.clear()')
    assert not unexpected(browser, 409)


def save(browser): browser.click(by_text('form button', 'Save'))


def test_diagnostics(browser, show):
    assert browser.value('document.querySelector(".numbers").textContent').split() == list('12345678')
    browser.type(AREA, NET.replace('top:', 'topp:'))
    browser.wait_for('document.querySelector(".excerpt")')
    assert browser.value('document.querySelector(".excerpt").textContent') == 'topp: "data"\n^~~~'
    assert 'hint: ' in browser.value('document.querySelector(".diagnostics").textContent')
    read_page(browser, 'diagnostics')


def test_tab_key(browser, show):
    browser.value(AREA + '.focus(); ' + AREA + '.setSelectionRange(0, 0)')
    browser.press('Tab')
    assert browser.value(AREA + '.value').startswith('  name')
    assert browser.value('document.activeElement === %s' % AREA)
    browser.press('Escape')
    browser.press('Tab')
    assert browser.value('document.activeElement !== %s' % AREA), 'Escape, then Tab leaves'


def test_draft(browser, show, file):
    changed = NET.replace('dim: 4', 'dim: 5')
    browser.type(AREA, changed)
    browser.wait_for('(%s).startsWith("Unsaved changes")' % NOTE)
    read_page(browser, 'draft')
    show()
    assert browser.value(AREA + '.value') == changed, 'kept while other pages are shown'
    browser.click(by_text('button', 'Discard them'))
    browser.wait_for(AREA + '.value === %s' % json.dumps(NET))
    show()
    assert browser.value(AREA + '.value') == NET
    browser.type(AREA, changed)
    save(browser)
    browser.wait_for('document.getElementById("message").textContent.includes("was saved")')
    assert file.read_text() == changed and browser.value(NOTE) == ''


def test_changed_on_disk(browser, show, file):
    browser.type(AREA, NET.replace('dim: 4', 'dim: 6'))
    file.write_text('name: "by another program"\n')
    save(browser)
    browser.wait_for('document.querySelector("dialog[open]")?.textContent.includes("was changed since it was opened")')
    read_page(browser, 'conflict')
    browser.click(by_text('dialog[open] button', 'Cancel'))
    browser.wait_for('document.querySelector("form .error:not([hidden])")')
    assert file.read_text() == 'name: "by another program"\n'
    save(browser)
    browser.wait_for('document.querySelector("dialog[open]")')
    browser.click(by_text('dialog[open] button', 'Replace it'))
    browser.wait_for('document.getElementById("message").textContent.includes("was saved")')
    assert 'dim: 6' in file.read_text()


def test_existing_file(browser, show, place):
    browser.type(control('Save as'), 'nets/other.prototxt')
    save(browser)
    browser.wait_for('document.querySelector("dialog[open]")?.textContent.includes("exists already")')
    browser.click(by_text('dialog[open] button', 'Cancel'))
    browser.wait_for('document.querySelector("form .error:not([hidden])")')
    assert 'other' in (place / 'nets/other.prototxt').read_text()
    browser.type(control('Save as'), 'nets/deep/new.prototxt')
    save(browser)
    browser.wait_for('document.getElementById("message").textContent.includes("was saved")')
    assert (place / 'nets/deep/new.prototxt').read_text() == NET


def test_replace_needs_the_digest(studio, file):
    digest = studio.get('/api/text', path='nets/small.prototxt')['digest']
    body = {'path': 'nets/small.prototxt', 'text': 'name: "b"'}
    for wrong in {}, {'digest': ''}, {'digest': digest[:-1] + 'x'}:
        assert studio.ask('POST', '/api/text', {**body, **wrong})[0] == 409, wrong
    assert file.read_text() == NET
    changed = studio.post('/api/text', **body, digest=digest)['digest']
    assert changed != digest and studio.get('/api/text', path='nets/small.prototxt')['digest'] == changed
    assert studio.ask('POST', '/api/text', {**body, 'digest': digest})[0] == 409, 'it was changed since'
    assert sorted(one.name for one in file.parent.iterdir() if one.is_file()) == ['other.prototxt', 'small.prototxt']
