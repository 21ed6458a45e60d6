"""The server's page in a browser: it classifies images and shows their classes, and an error for a broken one."""
import re, shlex

import cv2, numpy

from tests.studio.accessibility import read_page
from tests.server.serving import NAMES, scores


def test_page_classifies_images(server, models, browser, tmp_path):
    pixels = numpy.random.default_rng(2).integers(0, 256, (8, 8, 3), dtype=numpy.uint8)
    for name in 'noise.png', 'noise.bmp': cv2.imwrite(str(tmp_path / name), pixels)
    wanted = scores(models.arrays[1], pixels.transpose(2, 0, 1)[None].astype(numpy.float32))[0]
    browser.listen()
    browser.look_like(1280, 'light')
    browser.open('http://127.0.0.1:%d/' % server.port)
    browser.wait_for("document.querySelector('#model option')?.textContent == 'small'")
    (tmp_path / 'broken.png').write_bytes((tmp_path / 'noise.png').read_bytes()[:100])
    browser.choose_files('input[type=file]', tmp_path / 'noise.png', tmp_path / 'broken.png')
    browser.wait_for("document.querySelectorAll('.scores li').length == 4")
    rows = browser.value("[...document.querySelectorAll('.scores li')].map(row => row.textContent)")
    assert rows == ['%s%.1f %%' % (NAMES[i], 100 * wanted[i]) for i in numpy.argsort(-wanted)]
    line = browser.value("document.getElementById('curl').textContent")
    assert re.match(r"curl --data-binary @noise.png 'http://127.0.0.1:\d+/v1/classify\?model=small'$", line)
    assert re.match(r'[\d.]+ ms in the server', browser.value("document.querySelector('.answer .note').textContent"))
    assert browser.value("document.getElementById('about').textContent") == 'small, version 1'
    browser.wait_for("document.querySelector('.bad')")
    assert browser.value("document.querySelector('.bad').textContent") == 'the PNG cannot be decoded: it is truncated'
    widths = browser.value("[...document.querySelectorAll('.score-bar')].map(bar => bar.clientWidth)")
    assert widths[0] > 20 and widths == sorted(widths, reverse=True), 'bars follow the scores'
    read_page(browser, 'server')
    accepted = browser.value("document.querySelector('input[type=file]').accept").split(',')
    assert {'.jpg', '.png', '.webp', '.bmp', '.ppm'} <= set(accepted)
    browser.choose_files('input[type=file]', tmp_path / 'noise.bmp')
    browser.wait_for("document.querySelectorAll('.scores li').length == 4 && !document.querySelector('.bad')")
    browser.choose_files('input[type=file]', tmp_path / 'broken.png')
    browser.wait_for("document.querySelectorAll('.image-card').length == 1 && document.querySelector('.bad')")
    assert browser.value("document.querySelectorAll('.scores').length") == 0, 'the old answer is still shown'
    odd = tmp_path / "it's $(touch x); & co.png"
    odd.write_bytes((tmp_path / 'noise.png').read_bytes())
    browser.choose_files('input[type=file]', odd)
    browser.wait_for("document.getElementById('curl').textContent.includes('co.png')")
    assert shlex.split(browser.value("document.getElementById('curl').textContent"))[2] == '@' + odd.name
    complaints = [one for one in browser.complaints if 'status of 400' not in one]  # of the broken image
    assert not complaints, '\n'.join(sorted(set(complaints)))


def test_page_asks_for_a_token(start_server, browser, tmp_path):
    (tmp_path / 'token').write_text('a-token-of-enough-characters\n')
    server = start_server('--token-file=%s' % (tmp_path / 'token'))
    browser.open('http://127.0.0.1:%d/' % server.port)
    browser.wait_for("document.getElementById('error')?.textContent.startsWith('This server requires a token')")
    browser.type("document.getElementById('token')", 'a-token-of-enough-characters')
    browser.value("document.getElementById('token').dispatchEvent(new Event('change'))")
    browser.wait_for("document.querySelector('#model option')?.textContent == 'small'")
    assert browser.value("document.getElementById('error').hidden")
