"""Selects the build of the module for this CPU: packages have one for each of several x86-64 levels, in folders."""
import importlib
import importlib.machinery
import importlib.util
import os
import sys

# CPU flags (of /proc/cpuinfo) that each level adds.
_FLAGS = {'v3': {'avx2', 'bmi1', 'bmi2', 'f16c', 'fma', 'movbe'},
          'v4': {'avx512f', 'avx512bw', 'avx512cd', 'avx512dq', 'avx512vl'}}


def _flags_of_this_cpu():
    try:
        with open('/proc/cpuinfo') as file:
            return set(next(line for line in file if line.startswith('flags')).split())
    except (OSError, StopIteration):
        return set()


def _folders():
    """The folders, best level first, up to CORTADO_CPU_LEVEL."""
    flags, folders, most = _flags_of_this_cpu(), [''], os.environ.get('CORTADO_CPU_LEVEL') or 'v4'
    for level, wanted in _FLAGS.items():
        if not wanted <= flags or level > most and most.startswith('v'):
            break
        folders.insert(0, level)
    return folders


def _within_program():
    return getattr(sys.modules.get('caffe.python_layer'), 'within_program', False)


def load():
    """Loads the best available build as `cortado._cortado`."""
    if _within_program():
        sys.modules['cortado._cortado'] = importlib.import_module('cortado._within_program')
        return
    for folder in _folders():
        for suffix in importlib.machinery.EXTENSION_SUFFIXES:
            path = os.path.join(os.path.dirname(os.path.abspath(__file__)), folder, '_cortado' + suffix)
            if os.path.exists(path):
                spec = importlib.util.spec_from_file_location('cortado._cortado', path)
                sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(module)
                return
