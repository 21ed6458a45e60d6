"""Runs a program with the preloaded library, and reads the library's log."""
import errno, os, signal, subprocess

LIBRARY = ''  # the library's path; conftest.py sets it
ENDED = 99  # the exit code of a process that a rule ended

# The errors that are injected into the calls of each group.
ERRORS = {'open': (errno.EIO, errno.EDQUOT), 'read': (errno.EIO,), 'write': (errno.ENOSPC, errno.EIO),
          'sync': (errno.EIO, errno.EDQUOT), 'rename': (errno.EIO, errno.EDQUOT), 'close': (errno.EIO,),
          'unlink': (errno.EIO,), 'mkdir': (errno.ENOSPC,), 'mmap': (errno.ENODEV,),
          'truncate': (errno.ENOSPC, errno.EIO), 'link': (errno.EDQUOT,)}
INTERRUPTED = ('read', 'write', 'sync', 'truncate')  # groups that may fail with EINTR
SHORT = ('read', 'write')


def environment(rules=(), **names):
    """`names`: the library's variables, in lower case without FAULT_."""
    names = {name: value for name, value in names.items() if value != ''}
    env = dict(os.environ, LD_PRELOAD=LIBRARY)
    if rules: env['FAULT'] = ','.join(rules)
    for name, value in names.items(): env['FAULT_' + name.upper()] = str(value)
    return env


def run(words, folder, limit=60, **settings):
    """Runs the program. Kills it after `limit` seconds, and returns None."""
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
    """Yields every (group, k, action) for the counted calls: each error once and from the k-th call on."""
    for group, count in sorted(counts.items()):
        for k in range(1, count + 1):
            for error in ERRORS.get(group, ()):
                yield group, k, 'fail:%d' % error
                yield group, k, 'failon:%d' % error
            if group in INTERRUPTED: yield group, k, 'fail:%d' % errno.EINTR
            if group in SHORT: yield group, k, 'short'
            yield group, k, 'before'
            yield group, k, 'after'
