#!/usr/bin/python3
"""Checks the rules for #include that the compiler does not check. Prints the violations and exits 1.

1. An #include "folder/..." names the file's own folder or one that docs/architecture.md lists for it. Every folder and
   every dependency on that page exists, and the dependencies have no cycle. In the folders of INNER_RANKS, a subfolder
   includes only subfolders of lower rank. Headers directly in such a folder include nothing from its subfolders.
2. Only core/ and kernels/ have conditional compilation (#if, #ifdef, #ifndef, #elif).
3. A library's headers are included only in the folders that wrap it.
4. No .cc file includes core/loops/for_each.h, directly or not. A build with CUDA refuses it; a build without CUDA would
   compile it.
"""
import collections
import functools
import graphlib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / 'docs/architecture.md'
INNER_RANKS = {
    'data': {'image': 1, 'formats': 1, 'lmdb': 1, 'archive': 2, 'video': 2, 'augment': 2, 'sources': 3, 'pipeline': 4,
             'inspect': 4, 'convert': 5, 'curate': 6},
    'layers': {'common': 1, 'types': 2},
    'core': {'text': 1, 'files': 2, 'process': 3, 'cpu': 4, 'device': 5, 'threads': 6, 'loops': 7},
    'proto': {'text': 1, 'upgrade': 2, 'weights': 3, 'files': 4},
    'layers/common': {'loops': 1, 'losses': 2, 'detection': 3, 'weights': 2, 'windows': 3, 'recurrent': 4, 'data': 2},
    'tools/runs': {'tensorboard': 1},
    'server': {'batching': 1, 'metrics': 2, 'models': 3, 'rest': 4, 'grpc': 4},
    'kernels/cpu': {'winograd': 1, 'amx': 2, 'onednn': 1, 'as_floats': 1},
}
CONDITIONAL = {'core', 'kernels'}
IN_C = {'bindings/c/include/cortado.h'}  # C and C++
WRAPPED = {  # prefix of an #include <...>: the folders that may include it
    r'(oneapi/)?dnnl': ['kernels/cpu'],
    r'(openblas/)?cblas': ['kernels/cpu'],
    r'(cuda|cudnn|cublas|curand|cooperative_groups|mma|thrust|cub/)': ['kernels/cuda', 'core'],
    r'omp\.h': ['core', 'kernels'],
    r'lmdb': ['data'],
    r'(jpeglib|turbojpeg)': ['data'],
    r'png\.h': ['data'],
    r'opencv': ['data'],
    r'glog/': ['core'],
    r'gflags/': ['tools'],
    r'nlohmann/': ['tools', 'tools/runs', 'kernels', 'proto', 'formats', 'data', 'server', 'http', 'studio'],
    r'boost/': ['http'],
    r'(grpc|grpcpp)/': ['server/grpc'],
    r'prometheus/': ['server/metrics'],
    r'openssl/': ['http'],
    r'archive(_entry)?\.h': ['data/archive/libarchive'],
    r'pugixml': ['data'],
    r'hdf5': ['hdf5'],
    r'leveldb/': ['leveldb'],
    r'onnx/onnx\.pb': ['onnx'],
    r'(Python\.h|numpy/)': ['bindings/python_layers'],
    r'pybind11/': ['bindings/python'],
    r'mpi\.h': ['ranks/mpi'],
    r'gloo/': ['ranks/gloo'],
    r'nccl\.h': ['ranks/nccl'],
    r'(cairo|pango)': ['tools/canvas/cairo'],
    r'zlib': ['core', 'data', 'tools'],
}


FUNCTORS = 'engine/core/loops/for_each.h'


def as_included(path):
    """The name of the file in an #include: without engine/, serving/, and formats/ before a folder."""
    parts = path.relative_to(ROOT).parts
    left_out = parts[0] in ('engine', 'serving') or parts[0] == 'formats' and len(parts) > 2
    return '/'.join(parts[1:] if left_out else parts)


def folder_of(included):
    """The folder of docs/architecture.md that a file belongs to."""
    parts = included.split('/')
    return '/'.join(parts[:2]) if parts[0] == 'bindings' or parts[:2] == ['tools', 'runs'] else parts[0]


def drawn_arrows():
    """{folder: the folders that it may include}, from the page's table."""
    rows = re.findall(r'^\| `([\w/]+)/` \|.*\|([^|]*)\|$', PAGE.read_text(), re.M)
    return {folder_of(as_included(ROOT / row / 'x')): set(re.findall(r'`([\w/]+)`', arrows)) for row, arrows in rows}


@functools.cache
def file_of(included):
    """The source file that an #include names; None for a generated file."""
    for home in ('', 'engine', 'formats', 'serving'):
        if (ROOT / home / included).is_file(): return ROOT / home / included
    return None


@functools.cache
def reaches_functors(included):
    """Whether this header is core/loops/for_each.h or includes it, directly or not."""
    path = file_of(included)
    if included == FUNCTORS or not path:
        return included == FUNCTORS
    return any(reaches_functors(name) for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(), re.M))


def inner_fault(file, included):
    """The violation in an #include between subfolders of one folder, or None."""
    for folder, ranks in INNER_RANKS.items():
        if not (str(file).startswith(folder + '/') and included.startswith(folder + '/')):
            continue
        depth = folder.count('/') + 1
        inner = [parts[depth] if len(parts) > depth + 1 else None for parts in (file.parts, included.split('/'))]
        unknown = [name for name in inner if name and name not in ranks]
        if unknown:
            return '%s/%s has no rank in scripts/dev/check_includes.py' % (folder, unknown[0])
        if inner[0] == inner[1] or not inner[1]:
            continue
        if not inner[0]:
            if file.suffix == '.h':
                return 'a header of %s/ may not include from %s/%s' % (folder, folder, inner[1])
        elif ranks[inner[1]] >= ranks[inner[0]]:
            return '%s/%s may not include from %s/%s' % (folder, inner[0], folder, inner[1])
    return None


def faults(path, arrows, used):
    file, name = path.relative_to(ROOT), pathlib.PurePath(as_included(path))
    folder = folder_of(str(name))
    for number, line in enumerate(path.read_text().splitlines(), 1):
        included = re.match(r'\s*#\s*include\s+"([^"]+/[^"]+)"', line)
        if included:
            other = folder_of(included[1])
            used[folder].add(other)
            if other != folder and other not in arrows[folder]:
                yield '%s:%d: %s/ may not include %s/' % (file, number, folder, other)
            inner = inner_fault(name, included[1])
            if inner:
                yield '%s:%d: %s' % (file, number, inner)
            if file.suffix == '.cc' and reaches_functors(included[1]):
                yield '%s:%d: %s is for .cu files, since it reaches %s' % (file, number, included[1], FUNCTORS)
        if folder not in CONDITIONAL and str(file) not in IN_C and re.match(r'\s*#\s*(if|ifdef|ifndef|elif)\b', line):
            yield '%s:%d: only core/ and kernels/ may have conditional compilation' % (file, number)
        theirs = re.match(r'\s*#\s*include\s+[<"]([^>"]+)', line)
        for begins, homes in WRAPPED.items():
            if theirs and re.match(begins, theirs[1]) and not any(str(name).startswith(home + '/') for home in homes):
                yield '%s:%d: %s belongs in %s' % (file, number, theirs[1], ' or '.join(homes))


def page_faults(arrows, used):
    """Dependencies that the page lists and the sources do not have, and cycles."""
    for folder, others in arrows.items():
        for other in sorted(others - used[folder]):
            yield '%s: no file of %s/ includes %s/' % (PAGE.name, folder, other)
    try: graphlib.TopologicalSorter(arrows).prepare()
    except graphlib.CycleError as error: yield '%s: a cycle: %s' % (PAGE.name, ' -> '.join(error.args[1]))


def main():
    arrows = drawn_arrows()
    used = collections.defaultdict(set)
    files = [path for path in sorted(ROOT.rglob('*')) if path.suffix in ('.h', '.cc', '.cu', '.cuh')
             and not re.match(r'build|\.|tests$|bench$|examples$|cmake$', path.relative_to(ROOT).parts[0])]
    homeless = {folder_of(as_included(path)) for path in files} - set(arrows)
    found = ['%s: %s/ is not on the page' % (PAGE.name, folder) for folder in sorted(homeless)]
    if not found:
        found = [fault for path in files for fault in faults(path, arrows, used)]
        found += page_faults(arrows, used)
    print('\n'.join(found + ['%d files, %d faults' % (len(files), len(found))]))
    sys.exit(bool(found) or not files)


if __name__ == '__main__':
    main()
