#!/usr/bin/python3
"""The rules of the house that a compiler does not see; prints what breaks them and exits 1.

1. Folders are layers: an #include "folder/..." names its own folder or one further down, never one beside or above. So
   are the folders within some of them (INNER_RANKS); files that lie directly in a folder are its contracts, of which
   headers include nothing from the folders within.
2. Only core/ and kernels/ tell builds apart: no #if, #ifdef or #ifndef elsewhere.
3. A library's headers appear only in the folders that wrap it.
4. No .cc file reaches engine/core/loops/for_each.h, however many headers lie between: a build with CUDA refuses it, one without
   would not notice.
"""
import functools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RANKS = {'core': 0, 'proto': 1, 'kernels': 1, 'ranks': 1, 'web': 1, 'http': 1, 'hdf5': 2, 'leveldb': 2, 'python': 2,
         'data': 2, 'layers': 3, 'graph': 4, 'net': 5, 'solvers': 6, 'runs': 7, 'library': 7, 'pymodule': 7, 'onnx': 7,
         'tools': 8, 'server': 9, 'studio': 9}
INNER_RANKS = {
    'data': {'image': 1, 'formats': 1, 'lmdb': 1, 'augment': 2, 'sources': 3, 'pipeline': 4, 'inspect': 4,
             'convert': 5, 'curate': 6},
    'layers': {'common': 1, 'types': 2},
    'runs': {'tensorboard': 1},
    'server': {'batching': 1, 'metrics': 2, 'models': 3, 'rest': 4, 'grpc': 4},
    'kernels/cpu': {'winograd': 1, 'amx': 2, 'onednn': 1, 'as_floats': 1},
}
CONDITIONAL = {'core', 'kernels'}
IN_C = {'bindings/c/include/cortado.h'}  # for two languages
WRAPPED = {  # what an #include <...> begins with: the folders that may say it
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
    r'nlohmann/': ['tools', 'runs', 'kernels', 'proto', 'data', 'server', 'http', 'studio'],
    r'boost/': ['http'],
    r'(grpc|grpcpp)/': ['server/grpc'],
    r'prometheus/': ['server/metrics'],
    r'openssl/': ['http'],
    r'pugixml': ['data'],
    r'hdf5': ['hdf5'],
    r'leveldb/': ['leveldb'],
    r'onnx/onnx\.pb': ['onnx'],
    r'(Python\.h|numpy/)': ['python'],
    r'pybind11/': ['pymodule'],
    r'mpi\.h': ['ranks/mpi'],
    r'gloo/': ['ranks/gloo'],
    r'nccl\.h': ['ranks/nccl'],
    r'zlib': ['core', 'data', 'tools'],
}


FUNCTORS = 'engine/core/loops/for_each.h'


@functools.cache
def reaches_functors(included):
    """Whether the header of this name is engine/core/loops/for_each.h or includes it, directly or not."""
    path = ROOT / included
    if included == FUNCTORS or not path.is_file():
        return included == FUNCTORS
    return any(reaches_functors(name) for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(), re.M))


def inner_fault(file, included):
    """What is wrong with file's including a file of the same top-level folder, or None."""
    for folder, ranks in INNER_RANKS.items():
        if not (str(file).startswith(folder + '/') and included.startswith(folder + '/')):
            continue
        depth = folder.count('/') + 1
        inner = [parts[depth] if len(parts) > depth + 1 else None for parts in (file.parts, included.split('/'))]
        unknown = [name for name in inner if name and name not in ranks]
        if unknown:
            return '%s/%s has no rank in scripts/check_includes.py' % (folder, unknown[0])
        if inner[0] == inner[1] or not inner[1]:
            continue
        if not inner[0]:
            if file.suffix == '.h':
                return 'a header of %s/ may not include from %s/%s' % (folder, folder, inner[1])
        elif ranks[inner[1]] >= ranks[inner[0]]:
            return '%s/%s may not include from %s/%s' % (folder, inner[0], folder, inner[1])
    return None


def faults(path):
    file = path.relative_to(ROOT)
    folder = file.parts[0]
    for number, line in enumerate(path.read_text().splitlines(), 1):
        ours = re.match(r'\s*#\s*include\s+"([^"/]+)/', line)
        if ours and ours[1] != folder and ours[1] in RANKS and RANKS[ours[1]] >= RANKS[folder]:
            yield '%s:%d: %s/ may not include %s/' % (file, number, folder, ours[1])
        included = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        inner = included and inner_fault(file, included[1])
        if inner:
            yield '%s:%d: %s' % (file, number, inner)
        if file.suffix == '.cc' and included and reaches_functors(included[1]):
            yield '%s:%d: %s is for .cu files, since it reaches %s' % (file, number, included[1], FUNCTORS)
        if folder not in CONDITIONAL and str(file) not in IN_C and re.match(r'\s*#\s*(if|ifdef|ifndef|elif)\b', line):
            yield '%s:%d: only core/ and kernels/ may compile one thing or another' % (file, number)
        theirs = re.match(r'\s*#\s*include\s+[<"]([^>"]+)', line)
        for begins, homes in WRAPPED.items():
            if theirs and re.match(begins, theirs[1]) and not any(str(file).startswith(home + '/') for home in homes):
                yield '%s:%d: %s belongs in %s' % (file, number, theirs[1], ' or '.join(homes))


def main():
    files = [path for folder in RANKS for path in sorted((ROOT / folder).rglob('*'))
             if path.suffix in ('.h', '.cc', '.cu', '.cuh')]
    found = [fault for path in files for fault in faults(path)]
    print('\n'.join(found + ['%d files, %d faults' % (len(files), len(found))]))
    sys.exit(bool(found) or not files)


if __name__ == '__main__':
    main()
