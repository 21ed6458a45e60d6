"""The server's page in a browser: it classifies an image and shows the classes."""
import re

import cv2, numpy

from tests.server.serving import NAMES, scores


def test_page_classifies_an_image(server, models, browser, tmp_path):
    pixels = numpy.random.default_rng(2).integers(0, 256, (8, 8, 3), dtype=numpy.uint8)
    cv2.imwrite(str(tmp_path / 'noise.png'), pixels)
    wanted = scores(models.arrays[1], pixels.transpose(2, 0, 1)[None].astype(numpy.float32))[0]
    browser.open('http://127.0.0.1:%d/' % server.port)
    browser.wait_for("document.querySelector('#model option')?.textContent == 'small'")
    browser.choose_file('#file', str(tmp_path / 'noise.png'))
    browser.wait_for("document.querySelectorAll('#seen tr').length == 4")
    rows = browser.value("[...document.querySelectorAll('#seen tr')].map(row => row.textContent)")
    assert rows == ['%s%.1f %%' % (NAMES[i], 100 * wanted[i]) for i in numpy.argsort(-wanted)]
    line = browser.value("document.getElementById('curl').textContent")
    assert re.match(r"curl --data-binary @noise.png 'http://127.0.0.1:\d+/v1/classify\?model=small'$", line)
    took = browser.value("document.getElementById('time').textContent")
    assert re.match(r'small, version 1: [\d.]+ ms in the server', took)
    assert browser.value("document.getElementById('error').textContent") == ''
    picture = cv2.imdecode(numpy.frombuffer(browser.screenshot('server'), numpy.uint8), cv2.IMREAD_COLOR)
    blue = (abs(picture.astype(int) - (0xcc, 0x66, 0)).max(2) < 12).any(1).sum()  # the bars, #0066cc
    assert picture.shape[0] > 400 and blue > 5, 'no bars in the picture'
