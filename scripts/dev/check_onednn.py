#!/usr/bin/python3
"""Parses the kernels that use oneDNN with the other supported version's headers: those of Debian 13 on Debian 12, and
the reverse. Usage: check_onednn.py [BUILD_FOLDER], which must be configured. The headers are unpacked from Debian's
package in build-onednn/. If the archive cannot be reached, it says so and passes.
"""
import pathlib, re, sys

import compile_commands, debian_package

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = '/usr/include/oneapi/dnnl/dnnl_version.h'
SUITES = {'2': 'trixie', '3': 'bookworm'}  # by the installed version: the suite that has the other one


def major(header):
    return re.search(r'DNNL_VERSION_MAJOR (\d+)', open(header).read()).group(1)


def main():
    build = (ROOT / (sys.argv[1] if len(sys.argv) > 1 else 'build')).resolve()
    suite = SUITES[major(VERSION)]
    unpacked = debian_package.unpack(suite, 'libdnnl-dev', ROOT / 'build-onednn')
    if not unpacked:
        print('check_onednn.py: Debian\'s archive cannot be reached: nothing was checked')
        return
    if major(unpacked / VERSION[1:]) == major(VERSION): sys.exit('both suites have the same oneDNN')
    commands = [compile_commands.parsing(entry['command'], '-isystem', str(unpacked / 'usr/include'))
                for entry in compile_commands.of(build) if '/kernels/cpu/onednn/' in entry['file']]
    failed = compile_commands.run_all(commands, build)
    print('%d sources with the headers of %s, %d with errors' % (len(commands), suite, failed))
    sys.exit(bool(failed) or not commands)


main()
