#!/usr/bin/python3
"""Unpacks a package of another Debian release, without root and without installing it.
Usage: debian_package.py SUITE PACKAGE FOLDER. Its files are then in FOLDER/SUITE/PACKAGE/usr and so on; a package that
is there already is not downloaded again.
"""
import pathlib, subprocess, sys

ARCHIVE = 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian %s main\n'


def unpack(suite, package, folder):
    """The folder of the package's files; None if the archive cannot be reached. apt's messages go to stderr."""
    apt = (pathlib.Path(folder) / suite).resolve()
    unpacked = apt / package
    if unpacked.is_dir(): return unpacked
    for name in ('lists/partial', 'cache/archives/partial'): (apt / name).mkdir(parents=True, exist_ok=True)
    (apt / 'sources.list').write_text(ARCHIVE % suite)
    options = {'Dir::Etc::sourcelist': apt / 'sources.list', 'Dir::Etc::sourceparts': '/dev/null',
               'Dir::State::lists': apt / 'lists', 'Dir::Cache': apt / 'cache', 'Dir::State::status': '/dev/null',
               'APT::Sandbox::User': ''}
    words = ['apt-get', '-qq'] + [word for name, value in options.items() for word in ('-o', '%s=%s' % (name, value))]
    for rest in (['update', '--error-on=any'], ['download', package]):
        if subprocess.run(words + rest, cwd=apt, stdout=subprocess.DEVNULL).returncode: return None
    file, = apt.glob(package + '_*.deb')
    subprocess.run(['dpkg-deb', '--extract', file, apt / 'new'], check=True)
    file.unlink()
    return (apt / 'new').rename(unpacked)


if __name__ == '__main__':
    if len(sys.argv) != 4: sys.exit(__doc__)
    folder = unpack(*sys.argv[1:])
    if not folder: sys.exit('debian_package.py: cannot download %s of %s' % (sys.argv[2], sys.argv[1]))
    print(folder)
