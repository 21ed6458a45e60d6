"""Checks of a page in the browser: contrast, names, headings, sizes of targets, focus (accessible.js)."""
import pathlib

CHECKS = pathlib.Path(__file__).with_name('accessible.js').read_text()


def read_page(browser, name):
    """Runs the checks at two widths, light and dark, and adds the failures to browser.complaints."""
    for width in 1280, 390:
        for scheme in 'light', 'dark':
            browser.look_like(width, scheme)
            browser.complaints += ['%s %d %s: %s' % (name, width, scheme, fault) for fault in browser.value(CHECKS)]
            if browser.pictures:
                height = browser.value('document.documentElement.scrollHeight')
                browser.look_like(width, scheme, min(max(height, 600), 4000))
                browser.screenshot('%s_%d_%s' % (name, width, scheme))
    browser.look_like(1280, 'light')
