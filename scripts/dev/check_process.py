#!/usr/bin/python3
"""Checks the code of the libraries, which also run in other people's processes. Prints the violations and exits 1.

1. Do not end the process. Throw an Error or return an exit code; the program decides.
2. Do not read or change the environment. Programs read it, and pass the values as options.
3. Do not keep mutable state outside of objects, since all nets of a process would share it.

The exceptions are listed below, each with its reason.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ['engine', 'proto', 'formats', 'data', 'layers', 'solvers', 'tools/runs', 'serving/http', 'bindings']

ONE_A_PROCESS = 'a library that a process loads once, with a C interface'
REGISTRY = 'filled before main(), then read only'
REGISTER = 'files that this process has open'
SCRATCH = "a thread's own scratch memory"
LAUNCHER = 'the launcher passes ranks by environment variables'

ENDS = {
    'engine/core/cpu/lesser_cpu.cc': 'runs before main(), in programs only: it can neither throw nor return',
    'engine/core/process/process.cc': 'the child process between fork and exec',
    'engine/ranks/child_process.cc': 'the child process between fork and exec',
    'engine/ranks/launch.cc': 'a launcher, which stops and continues together with its ranks',
    'engine/ranks/mpi/engine.cc': 'MPI_Abort ends the other ranks; the caller requests it by end_process',
}
ENVIRONMENT = {
    'engine/core/log.cc': 'GLOG_minloglevel, as in glog, where a library sets up the log',
    'engine/core/cpu/restart.cc': 'called by programs only, at the begin of main()',
    'data/archive/archive.cc': 'TMPDIR, the folder of temporary files',
    'data/video/video_reader.cc': "OpenCV reads the level of FFmpeg's log from the environment when it is loaded",
    'data/image/image_module.cc': 'OpenCV reads its limits from the environment when it is loaded',
    'engine/kernels/cpu/gemm_openblas.cc': 'OpenBLAS reads its thread count from the environment when it is loaded',
    'engine/ranks/gloo/engine.cc': LAUNCHER,
    'engine/ranks/mpi/engine.cc': 'MPI and UCX are configured by environment variables only',
    'engine/ranks/open_engine.cc': LAUNCHER,
    'engine/ranks/place.cc': LAUNCHER,
    'formats/hdf5/main.cc': 'a program',
    'formats/onnx/main.cc': 'a program',
}
STATE = {
    'engine/core/arena.cc': 'counts allocated bytes, for tests',
    'engine/core/device/cuda_runtime.cc': 'streams that no context uses',
    'engine/core/files/made_folders.cc': 'a cache of folder listings',
    'engine/core/forks.cc': 'counts the forks that led to this process',
    'engine/core/log.cc': "the process's log (docs/architecture.md)",
    'engine/core/files/mapped_file.cc': "SIGBUS's handler and the mappings that it knows (docs/architecture.md)",
    'engine/core/device/simulated_device.cc': "the simulated device's memory blocks",
    'engine/core/threads/thread_pool.cc': "the process's compute threads (docs/architecture.md)",
    'data/augment/read_moved_rows.cc': SCRATCH,
    'data/augment/read_rows.cc': SCRATCH,
    'data/augment/transform.cc': SCRATCH,
    'data/augment/transform_rows.cc': SCRATCH,
    'data/lmdb/lmdb.cc': REGISTER,
    'formats/hdf5_file.cc': REGISTER + ', and a counter for names of temporary files',
    'solvers/snapshot_lock.cc': REGISTER,
    'layers/fusion.cc': REGISTRY,
    'layers/registry.cc': REGISTRY,
    'solvers/update_rule.cc': REGISTRY,
    'engine/ranks/gloo/engine.cc': ONE_A_PROCESS,
    'engine/ranks/mpi/engine.cc': ONE_A_PROCESS,
    'engine/ranks/nccl/engine.cc': ONE_A_PROCESS,
    'formats/leveldb/main.cc': 'a program',
    'bindings/python_layers/module.cc': "the process's Python interpreter",
    'bindings/c/status.cc': "a thread's last error (C interface), and whether the log was silenced",
    'bindings/python/errors.cc': "the module's exception class",
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
    (ENVIRONMENT, 'may read or change the environment', re.compile(
        r'\b(?:secure_)?(?:getenv|setenv|unsetenv|putenv)\(')),
    (STATE, 'may keep mutable state outside of objects', re.compile(IN_FUNCTION + '|' + OUTSIDE)),
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
    """Exceptions that are no longer needed."""
    for allowed, what, pattern in RULES:
        for file in allowed:
            path = ROOT / file
            if not path.is_file() or not any(pattern.search(code_of(line)) for line in lines_of(path)):
                yield 'scripts/dev/check_process.py: the exception for %s is unused: no code there %s' % (file, what)


def main():
    files = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob('*'))
             if path.suffix in ('.h', '.cc', '.cu', '.cuh')]
    found = [fault for path in files for fault in faults(str(path.relative_to(ROOT)), lines_of(path))]
    found += needless()
    print('\n'.join(found + ['%d files, %d faults' % (len(files), len(found))]))
    sys.exit(bool(found) or not files)


if __name__ == '__main__':
    main()
