"""Splits a wheel with modules for several versions of CPython into one wheel for each version.
Usage: split_wheel.py WHEEL FOLDER. Needs the package `wheel`.
"""
import pathlib, re, subprocess, sys, tempfile, zipfile

VERSIONED = re.compile(r'\.cpython-(3\d+)(?:-\w+-linux-gnu)?\.so$')  # modules, and the library for Python layers


def run(*words): subprocess.run([sys.executable, '-m', 'wheel', *map(str, words)], check=True)


def versions_in(wheel):
    return sorted({found.group(1) for name in zipfile.ZipFile(wheel).namelist() if (found := VERSIONED.search(name))})


def keep(files, own, version):
    """Leaves the files of one version, and changes the tags. A file NAME.cpython-3N.so replaces NAME.so."""
    for path in list(files.rglob('*.so')):
        found = VERSIONED.search(path.name)
        if found and found.group(1) != version: path.unlink()
        elif found and '-linux-gnu' not in found.group(): path.rename(path.with_name(path.name[:found.start()] + '.so'))
    tags, = files.glob('*.dist-info/WHEEL')
    tags.write_text(re.sub(r'(?m)^Tag: cp%s-cp%s-' % (own, own), 'Tag: cp%s-cp%s-' % (version, version),
                           tags.read_text()))


def main():
    wheel, folder = sys.argv[1:]
    own = re.search(r'-cp(3\d+)-', pathlib.Path(wheel).name).group(1)
    for version in versions_in(wheel):
        with tempfile.TemporaryDirectory() as made:
            run('unpack', '--dest', made, wheel)
            files, = pathlib.Path(made).iterdir()
            keep(files, own, version)
            run('pack', '--dest-dir', folder, files)


main()
