#!/usr/bin/python3
"""Parses all sources but the tests with clang, in build-clang/. Prints its warnings, and exits 1 if there are any.

Cortado is compiled by GCC. clang warns about other errors: unused functions, operator precedence. http/ and the folders
that include it are skipped, because Boost.Asio cannot use the coroutines of clang 14.
"""
import pathlib, re, shutil, subprocess, sys

import compile_commands

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / 'build-clang'
LEFT_OUT = re.compile(r'/(http|server|studio)/|\.pb\.cc$')


def configure():
    compile_commands.configure('clang', BUILD)
    listed = subprocess.run(['ninja', '-t', 'targets', 'all'], cwd=BUILD, capture_output=True, text=True, check=True)
    generated = re.findall(r'^(\w\S*\.(?:pb\.h|cc)): CUSTOM_COMMAND', listed.stdout, re.M)
    generated = [name for name in generated if not LEFT_OUT.search('/' + name)]
    subprocess.run(['ninja', '--quiet', *generated], cwd=BUILD, check=True)


def main():
    if not shutil.which('clang++'):
        sys.exit('check_clang.py: clang++ is not installed; run scripts/install_deps.sh test clang libomp-dev')
    configure()
    entries = compile_commands.of(BUILD)
    commands = [compile_commands.parsing(entry['command'], '-Wno-unused-command-line-argument') for entry in entries
                if not LEFT_OUT.search(entry['file']) and 'precompiled' not in entry['file']]
    failed = compile_commands.run_all(commands, BUILD)
    print('%d sources, %d with warnings' % (len(commands), failed))
    sys.exit(bool(failed) or not commands)


main()
