#!/usr/bin/python3
"""The server's page in a browser: an image is given to it, and its picture shows the classes. Skipped without Chromium.

    page.py CORTADO VENV [SCREENSHOT.png]
"""
import os, re, shutil, sys

import cv2, numpy

from serving import Place, Server, check, scores
from devtools import Browser

exe = os.path.abspath(sys.argv[1])
chromium = shutil.which('chromium')
if not chromium:
    print('skipped: there is no chromium')
    sys.exit(77)
place = Place()
server = Server(exe, models=place.path('models'))
pixels = numpy.random.default_rng(2).integers(0, 256, (8, 8, 3), dtype=numpy.uint8)
cv2.imwrite(place.path('noise.png'), pixels)
wanted = scores(place.arrays[1], pixels.transpose(2, 0, 1)[None].astype(numpy.float32))[0]
names = ['ape', 'nut', 'Mary', 'Jesus']

with Browser(chromium, place.path('browser')) as browser:
    browser.open('http://127.0.0.1:%d/' % server.port)
    browser.wait_for("document.querySelector('#model option')?.textContent == 'small'")
    browser.choose_file('#file', place.path('noise.png'))
    browser.wait_for("document.querySelectorAll('#seen tr').length == 4")
    rows = browser.value("[...document.querySelectorAll('#seen tr')].map(row => row.textContent)")
    told = [(names[i], '%.1f %%' % (100 * wanted[i])) for i in numpy.argsort(-wanted)]
    check(rows == [name + score for name, score in told], rows, told)
    line = browser.value("document.getElementById('curl').textContent")
    check(re.match(r"curl --data-binary @noise.png 'http://127.0.0.1:\d+/v1/classify\?model=small'$", line), line)
    took = browser.value("document.getElementById('time').textContent")
    check(re.match(r'small, version 1: [\d.]+ ms in the server', took), took)
    check(browser.value("document.getElementById('error').textContent") == '')
    picture = cv2.imdecode(numpy.frombuffer(browser.screenshot(), numpy.uint8), cv2.IMREAD_COLOR)
    if len(sys.argv) > 3: cv2.imwrite(sys.argv[3], picture)
    blue = (abs(picture.astype(int) - (0xcc, 0x66, 0)).max(2) < 12).any(1).sum()  # the bars, #0066cc
    check(picture.shape[0] > 400 and blue > 5, 'no bars in the picture', picture.shape, blue)
server.stop()
print('the page shows', rows)
