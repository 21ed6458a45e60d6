#!/usr/bin/python3
"""Trainings as the studio's clients meet them: begun, followed, stopped, gone on with, and going on without the studio.

    trainings.py CORTADO
"""
import json, os, signal, socket, sys, time

from studio_place import TOKEN, Place, Studio, check, fashion

exe = os.path.abspath(sys.argv[1])
if not fashion(1):
    print('skipped: Fashion-MNIST is not installed')
    sys.exit(77)

def wait_for(what, told, seconds=30):
    end = time.time() + seconds
    while time.time() < end:
        if what(): return
        time.sleep(0.1)
    raise AssertionError('never so: %s' % told)

class Feed:
    """Server-sent events of a path."""
    def __init__(self, studio, target):
        self.socket = socket.create_connection(('127.0.0.1', studio.port), timeout=10)
        self.socket.sendall(('GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n\r\n'
                             % (target, studio.port, TOKEN)).encode())
        self.rest = b''

    def next(self, kind):
        """The data of the next event of this kind."""
        while True:
            while b'\n\n' not in self.rest:
                part = self.socket.recv(65536)
                check(part, 'the feed ended')
                self.rest += part
            event, self.rest = self.rest.split(b'\n\n', 1)
            lines = event.decode().split('\n')
            if 'event: ' + kind in lines:
                return json.loads('\n'.join(line[6:] for line in lines if line.startswith('data: ')))

def cpu_seconds(process):
    fields = open('/proc/%d/stat' % process).read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

def check_begin(studio):
    job = studio.post('/api/datasets', name='cloths', source='photos', side=28, gray=True)['job']
    check(studio.finished(job)['state'] == 'done', studio.get('/api/job', id=job))
    project = studio.post('/api/classifier', name='first', data='data/cloths', **{'from': 'lenet', 'epochs': 2000})
    check(project['solver'] == 'trainings/first/solver.prototxt' and project['choices'], project)
    begun = studio.post('/api/runs', name='first', solver=project['solver'])
    check(begun['path'] == 'runs/first' and begun['process'] > 0, begun)
    check(os.getsid(begun['process']) == begun['process'], 'in a session of its own')
    status, told, _ = studio.ask('POST', '/api/runs', {'name': 'first', 'solver': project['solver']})
    check(status == 400 and 'already' in told['error'], told)
    return begun['process']

def check_stopped_job(studio):
    """A dataset that is given up leaves nothing."""
    job = studio.post('/api/datasets', name='large', source='photos', side=1000)['job']
    wait_for(lambda: any(name.startswith('large.tmp.') for name in os.listdir(place.path('data'))), 'it is built aside')
    studio.post('/api/job/stop', id=job)
    check(studio.finished(job)['state'] == 'stopped', studio.get('/api/job', id=job))
    check(sorted(os.listdir(place.path('data'))) == ['cloths'], os.listdir(place.path('data')))

def check_mistakes(studio):
    """A training that cannot begin says why, and leaves no run."""
    place.write('bad_solver.prototxt', 'net: "none.prototxt"\nbase_lr: 0.1\nlr_policy: "fixed"\nmax_iter: 10\n')
    status, told, _ = studio.ask('POST', '/api/runs', {'name': 'bad', 'solver': 'bad_solver.prototxt'})
    check(status == 400 and 'none.prototxt' in told['error'], status, told)
    check([one['path'] for one in studio.get('/api/runs')] == ['runs/first'])
    check(os.listdir(place.path('runs')) == ['first'], 'the name is free again')
    for target in '/api/run/stop', '/api/run/snapshot', '/api/run/resume':
        check(studio.ask('POST', target, {'path': 'photos'})[0] == 404, target)

def check_feeds(studio):
    feed, runs = Feed(studio, '/api/run/feed?path=runs/first'), Feed(studio, '/api/runs/feed')
    first = feed.next('metrics')
    check(first['text'].endswith('\n') and json.loads(first['text'].split('\n')[0])['ev'], first)
    check(feed.next('metrics')['next'] > first['next'], 'it grows')
    check('Iteration' in feed.next('log')['text'])
    state = feed.next('state')
    check(state['state'] == 'running' and state['max_iter'] > 0, state)
    listed = runs.next('runs')
    check([one['path'] for one in listed] == ['runs/first'] and listed[0]['state'] == 'running', listed)
    again = studio.get('/api/run/metrics', path='runs/first', **{'from': first['next']})
    check(again['next'] > first['next'] and json.loads(again['text'].split('\n')[0])['iter'] >= 0, again)

def check_snapshot(studio):
    studio.post('/api/run/snapshot', path='runs/first')
    wait_for(lambda: studio.get('/api/run', path='runs/first')['snapshots'], 'a snapshot')
    name = studio.get('/api/run', path='runs/first')['snapshots'][0]['name']
    with open(place.images['bag'][0], 'rb') as file: image = file.read()
    wanted = {'run': 'runs/first', 'snapshot': name}
    status, seen, _ = studio.ask('POST', '/api/look', image, **wanted, blob='conv1', layer='conv1')
    check(status == 200, status, seen)
    check(abs(sum(one['probability'] for one in seen['classes']) - 1) < 1e-3, seen['classes'])
    activations = seen['activations']
    check(activations['shape'][:2] == [1, 20] and activations['picture']['planes'] == 20, activations)
    check(seen['weights']['shape'] == [20, 1, 5, 5] and sum(seen['weights']['histogram']['counts']) == 500)
    for parameters in {'blob': 'none'}, {'layer': 'none'}:
        status, told, _ = studio.ask('POST', '/api/look', image, **wanted, **parameters)
        check(status == 400 and 'none' in told['error'], status, told)
    check(studio.ask('POST', '/api/look', b'GIF89a', **wanted)[0] == 415)
    check(studio.ask('POST', '/api/look', image[:200], **wanted)[0] == 400, 'a JPEG that is cut off')

def check_outlives(studio, process):
    studio.stop()
    os.kill(process, 0)
    studio = Studio(exe, place.name)
    one = studio.get('/api/run', path='runs/first')
    check(one['state'] == 'running' and one['process'] == process, one)
    return studio

def check_resume(studio):
    studio.post('/api/run/stop', path='runs/first')
    stopped = studio.get('/api/run', path='runs/first')
    check(stopped['state'] == 'stopped' and stopped['iter'] > 0, stopped)
    check(studio.ask('POST', '/api/run/stop', {'path': 'runs/first'})[0] == 400, 'it is stopped already')
    studio.post('/api/run/resume', path='runs/first')
    wait_for(lambda: studio.get('/api/run', path='runs/first')['iter'] > stopped['iter'], 'it goes on')
    studio.post('/api/run/resume', path='runs/first', set=['solver.base_lr=0.00125'])  # stops it first
    one = studio.get('/api/run', path='runs/first')
    check([start['set'] for start in one['starts']] == [[], [], ['solver.base_lr=0.00125']], one['starts'])
    status, told, _ = studio.ask('POST', '/api/run/resume', {'path': 'runs/first', 'set': ['solver.base_rl=1']})
    check(status == 400 and 'base_lr' in told['error'], status, told)
    check(studio.get('/api/run', path='runs/first')['state'] == 'running', 'a wrong setting stops nothing')

def check_report(studio):
    status, page, headers = studio.ask('GET', '/api/run/report', path='runs/first')
    check(status == 200 and page.lower().startswith(b'<!doctype html>') and b'runs/first' in page, status, page[:300])
    check('sandbox allow-scripts' in headers['Content-Security-Policy'], headers)
    check(studio.ask('GET', '/api/run/report', path='photos')[0] == 404)

def check_killed(studio):
    stopped = studio.get('/api/run', path='runs/first')
    wait_for(lambda: studio.get('/api/run', path='runs/first')['iter'] > stopped['iter'], 'it goes on')
    os.kill(studio.get('/api/run', path='runs/first')['process'], signal.SIGKILL)
    wait_for(lambda: studio.get('/api/run', path='runs/first')['state'] == 'killed', 'killed')

def check_idle(studio):
    """With five runs and nobody who looks: at most 1 % of a core."""
    import shutil
    for i in range(4): shutil.copytree(place.path('runs', 'first'), place.path('runs', 'copy%d' % i))
    check(len(studio.get('/api/runs')) == 5)
    told = studio.get('/api/runs/compare', a='runs/first', b='runs/copy1')['text']
    check('runs/copy1' in told, told)
    time.sleep(1)
    before, start = cpu_seconds(studio.process.pid), time.time()
    time.sleep(4)
    share = (cpu_seconds(studio.process.pid) - before) / (time.time() - start)
    check(share <= 0.01, share)
    print('idle: %.2f %% of a core' % (100 * share))

place = Place(exe, 800, classes=10)
studio = Studio(exe, place.name)
process = check_begin(studio)
try:
    for step in check_stopped_job, check_mistakes, check_feeds, check_snapshot:
        step(studio)
        print(step.__name__, 'well')
    studio = check_outlives(studio, process)
    for step in check_resume, check_report, check_killed, check_idle:
        step(studio)
        print(step.__name__, 'well')
finally:
    for one in os.listdir(place.path('runs')):
        try: os.kill(json.load(open(place.path('runs', one, 'run.json')))['starts'][-1]['pid'], signal.SIGKILL)
        except (ProcessLookupError, KeyError): pass
studio.stop()
