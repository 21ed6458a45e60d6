#!/usr/bin/python3
"""Writes a software bill of materials of programs, as CycloneDX 1.5 in JSON: the Debian packages of all libraries that
they load, with versions, sources, licences and SHA-256, and the direct dependencies of each program.

    sbom.py [--check PAGE] [--output FILE] PROGRAM...

With --check, prints direct dependencies that PAGE does not list, and exits 1 if there are any.
"""
import argparse, hashlib, json, os, re, subprocess, sys, uuid

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def output_of(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def version():
    with open(os.path.join(ROOT, 'CMakeLists.txt')) as file:
        return re.search(r'project\(cortado VERSION ([\d.]+)', file.read())[1]


def libraries_of(program):
    """{soname: path} of all libraries that the program loads."""
    found = re.findall(r'^\s*(\S+) => (/\S+)', output_of('ldd', program), re.M)
    return {name: os.path.realpath(path) for name, path in found}


def needed_by(program):
    return re.findall(r'\(NEEDED\).*\[(.*)\]', output_of('readelf', '-d', '--wide', program))


def packages_of(paths):
    """{path: Debian package} of these files; Cortado's own libraries are left out."""
    # If /lib is a link to /usr/lib, a package may list a file by either path.
    names = {name: path for path in paths for name in (path, path.removeprefix('/usr'))}
    listed = subprocess.run(['dpkg', '-S', *names], capture_output=True, text=True).stdout
    found = (line.rsplit(': ', 1) for line in listed.splitlines() if not line.startswith('diversion'))
    return {names[name]: packages.split(',')[0] for packages, name in found if name in names}


def licences_of(package):
    path = '/usr/share/doc/%s/copyright' % package.split(':')[0]
    try:
        with open(path, encoding='utf-8', errors='replace') as file: text = file.read()
    except OSError:
        return []
    return sorted(set(re.findall(r'^License: +(\S.*?) *$', text, re.M)))


def component(package, files):
    fields = '${Package}\n${Version}\n${Architecture}\n${source:Package}\n${source:Version}\n${Homepage}'
    values = output_of('dpkg-query', '-W', '-f', fields, package)
    name, number, machine, source, source_number, page = values.split('\n')
    purl = 'pkg:deb/debian/%s@%s?arch=%s&distro=debian-12' % (name, number.replace('+', '%2B'), machine)
    made = {'type': 'library', 'bom-ref': purl, 'name': name, 'version': number, 'purl': purl,
            'licenses': [{'license': {'name': licence}} for licence in licences_of(package)],
            'properties': [{'name': 'debian:source', 'value': '%s %s' % (source, source_number)}],
            'components': [{'type': 'file', 'name': os.path.basename(path),
                            'hashes': [{'alg': 'SHA-256', 'content': sha256(path)}]} for path in sorted(files)]}
    if page: made['externalReferences'] = [{'type': 'website', 'url': page}]
    return made


def sha256(path):
    with open(path, 'rb') as file: return hashlib.sha256(file.read()).hexdigest()


def bill(programs):
    libraries = {program: libraries_of(program) for program in programs}
    package_of = packages_of({path for loaded in libraries.values() for path in loaded.values()})
    files = {}
    for path, package in package_of.items(): files.setdefault(package, set()).add(path)
    needs = {program: {package_of.get(loaded.get(name)) for name in needed_by(program)} - {None}
             for program, loaded in libraries.items()}
    components = {package: component(package, paths) for package, paths in sorted(files.items())}
    ours = [{'type': 'application', 'bom-ref': os.path.basename(program), 'name': os.path.basename(program),
             'version': version(), 'licenses': [{'license': {'id': 'BSD-2-Clause'}}],
             'hashes': [{'alg': 'SHA-256', 'content': sha256(program)}]} for program in programs]
    return needs, {
        'bomFormat': 'CycloneDX', 'specVersion': '1.5', 'version': 1,
        'serialNumber': 'urn:uuid:%s' % uuid.uuid5(uuid.NAMESPACE_URL, ''.join(sha256(p) for p in programs)),
        'metadata': {'component': {'type': 'application', 'bom-ref': 'cortado@' + version(), 'name': 'cortado',
                                   'version': version()}},
        'components': ours + list(components.values()),
        'dependencies': [{'ref': os.path.basename(program),
                          'dependsOn': sorted(components[package]['bom-ref'] for package in needs[program])}
                         for program in programs]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('programs', nargs='+', metavar='PROGRAM')
    parser.add_argument('--check', metavar='PAGE')
    parser.add_argument('--output', metavar='FILE')
    options = parser.parse_args()
    needs, made = bill(options.programs)
    if options.check:
        if not any(needs.values()):  # not a Debian system
            print('sbom.py: dpkg lists none of the libraries')
            sys.exit(77)
        with open(options.check) as file: page = file.read()
        missing = sorted('%s: %s' % (os.path.basename(program), package.split(':')[0])
                         for program, packages in needs.items() for package in packages
                         if '`%s`' % package.split(':')[0] not in page)
        print('\n'.join(missing) if missing else 'all packages are on the page')
        sys.exit(bool(missing))
    text = json.dumps(made, indent=1) + '\n'
    if not options.output: return print(text, end='')
    with open(options.output, 'w') as file: file.write(text)


main()
