"""Pages of the studio in a browser: finding controls, and errors of the console."""
import json


def by_text(kind, text):
    """The first element of this kind with this text."""
    return '[...document.querySelectorAll(%s)].find(one => one.textContent.trim() === %s)' % (json.dumps(kind),
                                                                                           json.dumps(text))


def control(label):
    """The control whose label starts with this text."""
    return ('[...document.querySelectorAll("label")].find(one => one.textContent.startsWith(%s))'
            '.querySelector("input, select, textarea")' % json.dumps(label))


def choose(browser, label, value):
    browser.value('(() => { const it = %s; it.value = %s; it.dispatchEvent(new Event("change")); })()'
                  % (control(label), json.dumps(value)))


def open_studio(browser, studio, until='document.querySelector("h1")'):
    """Opens the studio's first page, and waits for it; keeps the errors of its console from now on."""
    browser.listen()
    browser.complaints.clear()
    browser.look_like(1280, 'light')
    browser.open(studio.address)
    browser.wait_for(until)


def choose_photos(browser):
    """Goes from any page to the form for a dataset of the folder photos."""
    browser.click(by_text('nav a', 'Datasets'))
    browser.wait_for(by_text('.chooser .name', 'photos'))
    browser.click(by_text('.chooser .name', 'photos'))
    browser.wait_for('document.querySelector("output").textContent.startsWith("photos")')


def unexpected(browser, *statuses):
    """The console's errors, without the failed requests that a test expects, by their statuses."""
    return [one for one in browser.complaints if not any('status of %d' % status in one for status in statuses)]
