#!/usr/bin/python3
"""What the folders below the programs may not do, for they run in other people's processes; prints what breaks it and
exits 1.

1. End the process: that is decided by programs, which get an Error or an exit code.
2. Ask the environment, or change it: programs do, and pass on what they found as options.
3. Keep what may change outside of objects: two nets in one process would share it. Options are arguments.

Exceptions stand below, each with its reason.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ['engine', 'proto', 'formats', 'data', 'layers', 'solvers', 'tools/runs', 'serving/http', 'bindings']

ONE_A_PROCESS = 'a library that a process has once, behind a C interface'
REGISTRY = 'filled before main(), read afterwards'
REGISTER = 'what this process has open: a fact about it'
SCRATCH = "a thread's own scratch memory"
LAUNCHER = 'what started this process tells it so'

ENDS = {
    'engine/core/cpu/lesser_cpu.cc': 'runs before main(), in programs alone: nothing can be thrown or returned',
    'engine/ranks/child_process.cc': 'between fork and exec, where the process is a copy',
    'engine/ranks/launch.cc': 'stops, and goes on, with the ranks that it started: the work of a program that launches',
    'engine/ranks/mpi/engine.cc': 'MPI_Abort is how MPI tells other ranks, and is asked for: end_process',
}
ENVIRONMENT = {
    'engine/core/log.cc': "GLOG_minloglevel, as glog reads it, where the process's log is not a program's",
    'engine/core/cpu/restart.cc': 'called by programs alone, first thing in main()',
    'data/archive/archive.cc': 'TMPDIR, the folder of temporary files',
    'data/image/image_module.cc': 'OpenCV reads its limits when it is loaded, there alone',
    'engine/kernels/cpu/gemm_openblas.cc': 'OpenBLAS makes its threads when it is loaded, by its environment alone',
    'engine/ranks/gloo/engine.cc': LAUNCHER,
    'engine/ranks/mpi/engine.cc': 'MPI and UCX are set up by it alone',
    'engine/ranks/open_engine.cc': LAUNCHER,
    'engine/ranks/place.cc': LAUNCHER,
    'formats/hdf5/main.cc': 'a program',
}
STATE = {
    'engine/core/arena.cc': 'counts the bytes taken, for tests',
    'engine/core/device/cuda_runtime.cc': 'streams that no context has',
    'engine/core/files/made_folders.cc': 'folders that were listed: a cache',
    'engine/core/log.cc': "the process's log (docs/architecture.md)",
    'engine/core/files/mapped_file.cc': "SIGBUS's handler and the maps that it knows (docs/architecture.md)",
    'engine/core/device/simulated_device.cc': 'the blocks of a device',
    'engine/core/threads/thread_pool.cc': "the process's compute threads (docs/architecture.md)",
    'engine/core/threads/threads.cc': "a thread's own scratch memory and how it is held up",
    'data/augment/read_moved_rows.cc': SCRATCH,
    'data/augment/read_rows.cc': SCRATCH,
    'data/augment/transform.cc': SCRATCH,
    'data/augment/transform_rows.cc': SCRATCH,
    'data/lmdb/lmdb.cc': REGISTER,
    'formats/hdf5_file.cc': REGISTER + ', and numbers for names of temporary files',
    'solvers/snapshot_lock.cc': REGISTER,
    'layers/fusion.cc': REGISTRY,
    'layers/registry.cc': REGISTRY,
    'solvers/update_rule.cc': REGISTRY,
    'engine/ranks/gloo/engine.cc': ONE_A_PROCESS,
    'engine/ranks/mpi/engine.cc': ONE_A_PROCESS,
    'engine/ranks/nccl/engine.cc': ONE_A_PROCESS,
    'formats/leveldb/main.cc': 'a program',
    'bindings/python_layers/module.cc': 'the interpreter, which a process has once',
    'bindings/c/status.cc': "a thread's last error, as the C interface promises, and that the log was made quiet once",
    'bindings/python/errors.cc': "the module's class of errors",
}

TYPE = r'[\w:]+(?:<[^()]*>|<void \(\*\)\(\)>)?[*&]* '
VALUE = r'(?:\{.*\}|\[.*\])?(?: = [^;]*)?'
IN_FUNCTION = (r'^\s+(?:(?:inline|constinit) )*(?:static|thread_local) '
               r'(?:(?:inline|constinit|thread_local) )*(?!const\b|constexpr\b)' + TYPE +
               r'\w+(?:, \w+)*(?:\(\w+\)|' + VALUE + ');')
# Namespaces are not indented.
OUTSIDE = (r'^(?:(?:static|inline|constinit|thread_local) )*'
           r'(?!using|namespace|const|extern|typedef|struct|class|enum|return|template)' +
           TYPE + r'(?:\w+|\(\*\w+\)\([^)]*\))' + VALUE + r'(?:, \w+.*)?;')
RULES = [
    (ENDS, 'may end the process', re.compile(
        r'(?<![\w.>])(?:::|std::)?(?:_?exit|_Exit|abort|quick_exit|terminate|MPI_Abort)\(|::raise\(')),
    (ENVIRONMENT, 'may ask or change the environment', re.compile(
        r'\b(?:secure_)?(?:getenv|setenv|unsetenv|putenv)\(')),
    (STATE, 'may keep what changes outside of objects', re.compile(IN_FUNCTION + '|' + OUTSIDE)),
]


def code_of(line):
    return line.split('//')[0].rstrip()


def faults(file, lines):
    for number, line in enumerate(lines, 1):
        for allowed, what, pattern in RULES:
            if file not in allowed and pattern.search(code_of(line)):
                yield '%s:%d: no code here %s: %s' % (file, number, what, code_of(line).strip())


def lines_of(path):
    return path.read_text().splitlines()


def needless():
    """Exceptions that nothing needs any more."""
    for allowed, what, pattern in RULES:
        for file in allowed:
            path = ROOT / file
            if not path.is_file() or not any(pattern.search(code_of(line)) for line in lines_of(path)):
                yield 'scripts/dev/check_process.py: %s needs no leave: nothing there %s' % (file, what)


def main():
    files = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob('*'))
             if path.suffix in ('.h', '.cc', '.cu', '.cuh')]
    found = [fault for path in files for fault in faults(str(path.relative_to(ROOT)), lines_of(path))]
    found += needless()
    print('\n'.join(found + ['%d files, %d faults' % (len(files), len(found))]))
    sys.exit(bool(found) or not files)


if __name__ == '__main__':
    main()
