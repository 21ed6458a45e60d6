#!/usr/bin/python3
"""Finds names of layer types as strings in code that should query the type's record (layers/registry.h).

A layer's own file may name its type. layers/type_names.h names the types of layers that other code creates.
formats/onnx/, engine/graph/dialect/, proto/ and tools/starter/ are exempt: they translate and write nets.
"""
import pathlib, re, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXEMPT = ('tests/', 'bench/', 'formats/onnx/', 'engine/graph/dialect/', 'proto/', 'tools/starter/', 'layers/types/',
          'layers/type_names.h',
          'tools/program/command.cc')  # has a group of commands called Data


def sources():
    listed = subprocess.run(['git', 'ls-files', '-co', '--exclude-standard', '*.cc', '*.h', '*.cu'], cwd=ROOT,
                            capture_output=True, text=True, check=True).stdout.split()
    return [path for path in listed if (ROOT / path).is_file()]


def type_names(paths):
    text = '\n'.join((ROOT / path).read_text() for path in paths if path.startswith('layers/'))
    pairs = re.findall(r'\.name = "([A-Z]\w*)"|(?:_type(?:<\w+>)?\(\s*|k\w+\[\] = )"([A-Z]\w*)"', text)
    return {name for pair in pairs for name in pair if name}


def main():
    paths = sources()
    names, faults = type_names(paths), 0
    for path in paths:
        if path.startswith(EXEMPT): continue
        for number, line in enumerate((ROOT / path).read_text().split('\n'), 1):
            if line.lstrip().startswith('//'): continue
            for name in re.findall(r'"(\w+)"', line):
                if name not in names: continue
                print('%s:%d: the type "%s"' % (path, number, name))
                faults += 1
    print('%d types, %d faults' % (len(names), faults))
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
