"""Running a program with the preloaded library, and what it tells."""
import errno, os, signal, subprocess

LIBRARY = ''  # its path, which conftest.py sets
ENDED = 99  # the exit code of a process that a rule ended

# What an action gives to a call, by what the call is for.
ERRORS = {'open': (errno.EIO, errno.EDQUOT), 'read': (errno.EIO,), 'write': (errno.ENOSPC, errno.EIO),
          'sync': (errno.EIO, errno.EDQUOT), 'rename': (errno.EIO, errno.EDQUOT), 'close': (errno.EIO,),
          'unlink': (errno.EIO,), 'mkdir': (errno.ENOSPC,), 'mmap': (errno.ENODEV,),
          'truncate': (errno.ENOSPC, errno.EIO), 'link': (errno.EDQUOT,)}
INTERRUPTED = ('read', 'write', 'sync', 'truncate')  # what the system may interrupt
SHORT = ('read', 'write')


def environment(rules=(), **names):
    """`names`: without FAULT_, in small letters."""
    names = {name: value for name, value in names.items() if value != ''}
    env = dict(os.environ, LD_PRELOAD=LIBRARY, OMP_WAIT_POLICY='passive')
    if rules: env['FAULT'] = ','.join(rules)
    for name, value in names.items(): env['FAULT_' + name.upper()] = str(value)
    return env


def run(words, folder, limit=60, **settings):
    """None for a process that does not end, which is ended."""
    process = subprocess.Popen(words, cwd=folder, env=environment(**settings), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors='replace',
                               start_new_session=True)
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def read_log(path, remove=False):
    """Lines as (word, group, function, process, path)."""
    if not os.path.exists(path): return []
    with open(path) as f: lines = [line.rstrip('\n').split(' ', 4) for line in f]
    if remove: os.remove(path)
    return lines


def fired(path): return any(line[0] == 'fired' for line in read_log(path))


def faults_of(counts):
    """Every (group, k, action text) for calls counted by group: what each can suffer, once and from then on."""
    for group, count in sorted(counts.items()):
        for k in range(1, count + 1):
            for error in ERRORS.get(group, ()):
                yield group, k, 'fail:%d' % error
                yield group, k, 'failon:%d' % error
            if group in INTERRUPTED: yield group, k, 'fail:%d' % errno.EINTR
            if group in SHORT: yield group, k, 'short'
            yield group, k, 'before'
            yield group, k, 'after'
