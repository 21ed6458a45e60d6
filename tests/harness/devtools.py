"""Drives a headless Chromium by its DevTools protocol over pipes. CORTADO_SCREENSHOTS=FOLDER keeps the screenshots."""
import base64, json, os, shutil, subprocess, time

import pytest


@pytest.fixture(scope='module')
def browser(tmp_path_factory):
    """A Browser; skips the test if Chromium is not installed."""
    chromium = shutil.which('chromium')
    if not chromium: pytest.skip('chromium is not installed')
    with Browser(chromium, str(tmp_path_factory.mktemp('browser'))) as browser: yield browser


class Browser:
    pictures = os.environ.get('CORTADO_SCREENSHOTS')

    def __init__(self, chromium, folder):
        self.read, theirs_out = os.pipe()
        theirs_in, self.write = os.pipe()
        def descriptors():  # Chromium reads from 3 and writes to 4
            copies = os.dup(theirs_in), os.dup(theirs_out)
            os.dup2(copies[0], 3), os.dup2(copies[1], 4)
        flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--window-size=800,900',
                 '--hide-scrollbars', '--user-data-dir=' + folder, '--remote-debugging-pipe', '--no-first-run']
        self.process = subprocess.Popen([chromium, *flags, 'about:blank'], preexec_fn=descriptors, close_fds=False,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs_in), os.close(theirs_out)
        self.number, self.rest, self.session, self.complaints = 0, b'', None, []
        page = self.ask('Target.createTarget', url='about:blank')['targetId']
        self.session = self.ask('Target.attachToTarget', targetId=page, flatten=True)['sessionId']

    def __enter__(self): return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def ask(self, method, **parameters):
        self.number += 1
        message = {'id': self.number, 'method': method, 'params': parameters}
        if self.session: message['sessionId'] = self.session
        os.write(self.write, json.dumps(message).encode() + b'\0')
        while True:
            answer = self._next()
            if answer.get('id') != self.number:
                self._note(answer)
                continue
            if 'error' in answer: raise RuntimeError('%s: %s' % (method, answer['error']))
            return answer['result']

    def _note(self, event):
        """Keeps errors of the page's console; they arrive after listen()."""
        if event.get('method') in ('Runtime.exceptionThrown', 'Log.entryAdded'):
            if event['params'].get('entry', {}).get('level', 'error') == 'error':
                self.complaints.append(json.dumps(event['params']))

    def listen(self):
        for domain in 'Runtime', 'Log': self.ask(domain + '.enable')

    def _next(self):
        while b'\0' not in self.rest:
            part = os.read(self.read, 1 << 20)
            if not part: raise RuntimeError('the browser exited')
            self.rest += part
        message, self.rest = self.rest.split(b'\0', 1)
        return json.loads(message)

    def open(self, url): self.ask('Page.navigate', url=url)

    def value(self, expression):
        result = self.ask('Runtime.evaluate', expression=expression, returnByValue=True)
        if 'exceptionDetails' in result: raise RuntimeError(str(result['exceptionDetails']))
        return result['result'].get('value')

    def wait_for(self, expression, seconds=20):
        end = time.time() + seconds
        while not self.value('!!(%s)' % expression):
            if time.time() > end:
                raise RuntimeError('timeout waiting for: %s\n%s' % (expression, self.value('document.body.innerText')))
            time.sleep(0.1)

    def look_like(self, width, scheme, height=900, scale=1):
        """Sets the page's size in CSS pixels, pixels for each, and its colour scheme, 'light' or 'dark'; waits until
        charts are redrawn."""
        self.ask('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=scale,
                 mobile=False)
        self.ask('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': scheme}])
        self.ask('Runtime.evaluate', awaitPromise=True,
                 expression='new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))')

    def click(self, element):
        """Clicks the middle of the element that this JavaScript expression returns."""
        x, y = self.value('(() => { const it = %s; it.scrollIntoView({block: "center"}); '
                          'const box = it.getBoundingClientRect(); '
                          'return [box.x + box.width / 2, box.y + box.height / 2]; })()' % element)
        for kind in 'mousePressed', 'mouseReleased':
            self.ask('Input.dispatchMouseEvent', type=kind, x=x, y=y, button='left', clickCount=1)

    def drag(self, element, begin, end):
        """Drags along the element that this expression returns, from one fraction of its width to another."""
        x, y, width = self.value('(() => { const box = %s.getBoundingClientRect(); '
                                 'return [box.x, box.y + box.height / 2, box.width]; })()' % element)
        for kind, share in ('mousePressed', begin), ('mouseMoved', (begin + end) / 2), ('mouseReleased', end):
            self.ask('Input.dispatchMouseEvent', type=kind, x=x + share * width, y=y, button='left', buttons=1,
                     clickCount=1)

    def type(self, element, text):
        """Replaces a field's text."""
        self.value('%s.focus()' % element)
        self.value('document.activeElement.select()')
        self.ask('Input.insertText', text=text)

    def press(self, key):
        for kind in 'keyDown', 'keyUp': self.ask('Input.dispatchKeyEvent', type=kind, key=key)

    def choose_files(self, selector, *paths):
        root = self.ask('DOM.getDocument')['root']['nodeId']
        node = self.ask('DOM.querySelector', nodeId=root, selector=selector)['nodeId']
        self.ask('DOM.setFileInputFiles', nodeId=node, files=[str(path) for path in paths])

    def screenshot(self, name):
        """Returns the bytes of a PNG, and keeps it as NAME.png in the folder for screenshots."""
        content = base64.b64decode(self.ask('Page.captureScreenshot')['data'])
        if self.pictures:
            with open('%s/%s.png' % (self.pictures, name), 'wb') as file: file.write(content)
        return content
