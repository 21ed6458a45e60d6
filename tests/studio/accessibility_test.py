"""The accessibility checks find what they are for."""
import pytest

from tests.studio.accessibility import CHECKS

PAGE = '<!doctype html><html lang="en"><title>A page</title><main><h1>Title</h1>%s</main>'
PICTURE = 'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'
FAULTS = {
    '<p style="color: #999">gray</p>': 'contrast',
    '<button></button>': 'no name',
    '<img src="data:,">': 'no name',
    '<input>': 'no name',
    '<button aria-label="close">Save</button>': 'its name lacks its text',
    '<p aria-labelledby="none">x</p>': 'aria-labelledby of no element',
    '<p role="buton">x</p>': 'unknown role',
    '<a href="#"><button>x</button></a>': 'a control in a control',
    '<div aria-hidden="true"><button>x</button></div>': 'a control that is hidden',
    '<button tabindex="2">x</button>': 'a tab order',
    '<pre style="width: 9rem; overflow: auto">a line that is wider than its box</pre>': 'keys cannot scroll it',
    '<h3>x</h3>': 'a heading of level 3 after one of level 1',
    '<h1>x</h1>': 'headings of the first level',
    '<h2></h2>': 'an empty heading',
    '<i id="a"></i><i id="a"></i>': 'an id twice',
    '</main><p>x</p>': 'outside of the landmarks',
    '<nav></nav><nav></nav>': 'landmarks nav',
    '<li>x</li>': 'an item outside of a list',
    '<ul><p>x</p></ul>': 'not an item, in a list',
    '<table><tr><th>x</th></tr></table>': 'a head without a scope',
    '<button style="padding: 0; width: 9px">x</button><button style="padding: 0; width: 9px">y</button>': 'a target of',
    '<button style="outline: none">x</button>': 'no visible focus',
    '<p style="width: 5000px">x</p>': 'wider than the page',
    '<div class="wide"><table><tr><td>x</td></tr></table></div>': 'a table that is cut',
    '<img alt="x" style="width: 40px; height: 80px" src="%s">' % PICTURE: 'squashed to 40 x 80, not 40.0',
    '<label>x <input pattern="[a-z]+"></label>': 'a pattern without a title',
}


def test_a_page_without_faults(browser):
    assert faults(browser, '<p>x <a href="#">link</a></p><button>Save</button><ul><li>x</li></ul>') == []


@pytest.mark.parametrize('fault', FAULTS)
def test_faults(browser, fault):
    found = faults(browser, fault)
    assert any(one.startswith(FAULTS[fault]) for one in found), found


def faults(browser, content):
    browser.look_like(1280, 'light')
    browser.open('about:blank')
    browser.wait_for('document.readyState === "complete" && location.href === "about:blank"')
    browser.value('document.open(), document.write(%r), document.close()' % (PAGE % content))
    return browser.value(CHECKS)
