"""Builds the states of a disk after a power loss: replays recorded operations completely, in part or not at all.

The model is POSIX without further guarantees. Data is durable after a sync of its file, a name after a sync of its
folder. Before that, data may be missing (zeros) or torn at 512 or 4096 bytes, a file may be shorter, and each change of
a name may be lost independently. A rename is atomic, as in every journal.
"""
import json, os


def read_record(path):
    """The recorded operations, as dictionaries; 'data' has the bytes of a write."""
    operations = []
    with open(path, 'rb') as f:
        while line := f.readline():
            operation = json.loads(line)
            if 'bytes' in operation: operation['data'] = f.read(operation['bytes'])
            operations.append(operation)
    return operations


class File:
    """`durable`: the content at the last sync. `steps`: later changes, (offset, data) or a new size."""

    def __init__(self, content=b''):
        self.durable, self.steps = content, []

    def content(self, steps=None):
        data = bytearray(self.durable)
        for step in self.steps if steps is None else steps: apply(data, step)
        return bytes(data)

    def sync(self): self.durable, self.steps = self.content(), []


def apply(data, step):
    if isinstance(step, int):
        data[step:] = bytes(max(0, step - len(data)))
        return
    at, piece = step
    if at > len(data): data.extend(bytes(at - len(data)))
    data[at:at + len(piece)] = piece


class Disk:
    """Names are paths below `root`; folders map to None. `pending`: changes of names before a sync of their folder."""

    def __init__(self, root, begin):
        self.root, self.inodes, self.pending, self.printed = root, {}, [], b''
        self.now, self.durable = {}, {}
        for folder, folders, files in os.walk(begin):
            there = os.path.normpath(os.path.join(root, os.path.relpath(folder, begin)))
            self.now[there] = None
            for name in files:
                with open(os.path.join(folder, name), 'rb') as f: self.now[there + '/' + name] = File(f.read())
        self.durable = dict(self.now)
        self.by_inode = {}

    def file(self, operation):
        if operation['inode'] not in self.by_inode and operation.get('path') in self.now:
            self.by_inode[operation['inode']] = self.now[operation['path']]
        return self.by_inode.get(operation['inode'])

    def names(self, *change):
        perform(self.now, change)
        self.pending.append(change)

    def do(self, operation):
        op = operation['op']
        if op == 'say': self.printed += operation['data']
        elif op == 'create':
            made = self.by_inode[operation['inode']] = File()
            self.names('put', operation['path'], made)
        elif op == 'mkdir': self.names('put', operation['from'], None)
        elif op == 'unlink': self.names('remove', operation['from'])
        elif op == 'link': self.names('put', operation['to'], self.now[operation['from']])
        elif op == 'rename': self.rename(operation)
        elif op == 'write': self.change(operation, (operation['at'], operation['data']))
        elif op == 'truncate': self.change(operation, operation['at'])
        elif op == 'extend':
            file = self.file(operation)
            if file and len(file.content()) < operation['at']: file.steps.append(operation['at'])
        elif op == 'sync': self.sync(operation)
        elif op == 'syncfs': self.sync_all()

    def change(self, operation, step):
        file = self.file(operation)
        if file: file.steps.append(step)

    def rename(self, operation):
        a, b = operation['from'], operation['to']
        if operation['flags'] == 2: self.names('exchange', a, b, self.now[a], self.now[b])
        else: self.names('rename', a, b, self.now[a])

    def sync(self, operation):
        path = operation['path']
        if path in self.now and self.now[path] is None:
            for change in [c for c in self.pending if path in folders_of(c)]: perform(self.durable, change)
            self.pending = [c for c in self.pending if path not in folders_of(c)]
        elif self.file(operation): self.file(operation).sync()

    def sync_all(self):
        for file in self.now.values():
            if file is not None: file.sync()
        self.durable, self.pending = dict(self.now), []

    def after_loss(self, choose=None):
        """{path: bytes, or None for a folder}. Without `choose`, a random.Random, all operations are complete, as after
        a kill; else it chooses those that survive."""
        if choose is None: return {path: f if f is None else f.content() for path, f in self.now.items()}
        names = dict(self.durable)
        for change in self.pending:
            if choose.random() < 0.5: perform(names, change)
        memory = {}
        for thing in names.values():
            if thing is not None and id(thing) not in memory: memory[id(thing)] = survived(thing, choose)
        reachable = {path: f if f is None else memory[id(f)] for path, f in names.items()}
        return {path: f for path, f in reachable.items() if parents_exist(path, reachable, self.root)}

    def least(self):
        """Only what was synced."""
        reachable = {path: f if f is None else f.durable for path, f in self.durable.items()}
        return {path: f for path, f in reachable.items() if parents_exist(path, reachable, self.root)}


def perform(names, change):
    """put PATH FILE, remove PATH, rename A B FILE, exchange A B FILE_A FILE_B. Folders move with their content."""
    op, path = change[:2]
    if op == 'put': names[path] = change[2]
    elif op == 'remove': names.pop(path, None)
    elif op == 'rename':
        moved = {change[2] + name[len(path):]: names.pop(name) for name in below(names, path)}
        for name in below(names, change[2]): del names[name]
        names.update(moved)
        names[change[2]] = change[3]
    else:
        there = {change[2] + name[len(path):]: names.pop(name) for name in below(names, path)}
        back = {path + name[len(change[2]):]: names.pop(name) for name in below(names, change[2])}
        names.update(there)
        names.update(back)
        names[change[2]], names[path] = change[3:]

def folders_of(change):
    paths = change[1:3] if change[0] in ('rename', 'exchange') else change[1:2]
    return [os.path.dirname(path) for path in paths]

def below(names, path): return [name for name in names if name == path or name.startswith(path + '/')]

def parents_exist(path, names, root):
    while path != root:
        path = os.path.dirname(path)
        if path not in names: return path == root or not path.startswith(root)
    return True

def survived(file, choose):
    """A file's content after the loss: its last synced content, with some of the later steps, some of them in part."""
    steps = []
    for step in file.steps:
        fate = choose.random()
        if fate < 0.4: continue
        if fate > 0.8 and not isinstance(step, int) and len(step[1]) > 512:
            at, data = step
            unit = choose.choice((512, 4096))
            piece = bytearray(data)
            for begin in range(0, len(piece), unit):
                if choose.random() < 0.5: piece[begin:begin + unit] = bytes(len(piece[begin:begin + unit]))
            step = (at, bytes(piece))
        steps.append(step)
    return file.content(steps)

def build(tree, root, folder):
    """Writes a tree, whose names are below `root`, to a new folder."""
    os.makedirs(folder)
    for path in sorted(tree):
        there = folder + path[len(root):]
        if tree[path] is None: os.makedirs(there, exist_ok=True)
        else:
            with open(there, 'wb') as f: f.write(tree[path])
