#!/usr/bin/python3
"""Finds names of layer types as strings in code that should ask the type's record (layers/registry.h) what a layer is.

A layer's own file may name its type, and layers/type_names.h the types that other code makes layers of. Translators and
writers of nets name types because that is their subject: formats/onnx/, proto/ and tools/starter/.
REMAINING lists what is left of older code; a number may only fall.
"""
import pathlib, re, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXEMPT = ('tests/', 'bench/', 'formats/onnx/', 'proto/', 'tools/starter/', 'layers/types/', 'layers/type_names.h')
REMAINING = {
    'tools/picture/blocks.cc': 42,
    'tools/picture/caption.cc': 3,
    'tools/report/detected_images.cc': 1,
    'tools/train/training_warnings.cc': 3,
}


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
        found = []
        for number, line in enumerate((ROOT / path).read_text().split('\n'), 1):
            if line.lstrip().startswith('//'): continue
            found += [(number, name) for name in re.findall(r'"(\w+)"', line) if name in names]
        if len(found) == REMAINING.get(path, 0): continue
        faults += 1
        if len(found) < REMAINING.get(path, 0):
            print('%s: names %d types now: lower its number in %s' % (path, len(found), pathlib.Path(__file__).name))
        else:
            for number, name in found: print('%s:%d: the type "%s"' % (path, number, name))
    print('%d types, %d faults' % (len(names), faults))
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
