#!/usr/bin/python3
"""Checks that programs and libraries are hardened against exploits (cmake/hardening.cmake).

    check_hardening.py FILE...

A program must be position-independent, have full RELRO (bound at the start), no segment that is writable and
executable, no executable stack, stack canaries, checked calls of the C library (_FORTIFY_SOURCE), and on x86-64 endbr64
at the begin of its functions. Canaries and checked calls are not required of libraries. Needs readelf. Exits 1 if a
feature is missing.
"""
import re, subprocess, sys

ENDBR64 = b'\xf3\x0f\x1e\xfa'


def readelf(path, *flags):
    done = subprocess.run(['readelf', '--wide', *flags, path], capture_output=True, text=True)
    if done.returncode != 0 or 'ELF' not in done.stdout + readelf_head(path):
        sys.exit('%s: not an ELF file' % path)
    return done.stdout


def readelf_head(path):
    with open(path, 'rb') as file:
        return 'ELF' if file.read(4) == b'\x7fELF' else ''


def text_section(path, sections):
    found = re.search(r' \.text\s+PROGBITS\s+\w+ (\w+) (\w+)', sections)
    if not found: return b''
    with open(path, 'rb') as file:
        file.seek(int(found[1], 16))
        return file.read(int(found[2], 16))


def missing_in(path):
    """Yields a phrase for each feature that `path` lacks."""
    header, segments = readelf(path, '-h'), readelf(path, '-l')
    dynamic, symbols = readelf(path, '-d'), readelf(path, '--dyn-syms')
    kinds = re.findall(r'^\s+(LOAD|GNU_STACK|GNU_RELRO)\s+(?:0x\w+\s+){5}([RWE ]{3})', segments, re.M)
    if 'Type:' in header and 'DYN' not in header: yield 'is at a fixed address: -pie'
    if 'GNU_RELRO' not in dict(kinds): yield 'has no RELRO: -Wl,-z,relro'
    if not re.search(r'BIND_NOW|FLAGS_1.*NOW', dynamic): yield 'binds late: -Wl,-z,now'
    if 'E' in dict(kinds).get('GNU_STACK', 'E'): yield 'has a stack that can be run'
    if any(kind == 'LOAD' and 'W' in rights and 'E' in rights for kind, rights in kinds):
        yield 'has a segment that is written to and run'
    if 'TEXTREL' in dynamic: yield 'changes its own code when it is loaded (TEXTREL)'
    is_program = 'INTERP' in segments  # a small library may have no array on its stack and no checked call
    if is_program and '__stack_chk_fail' not in symbols: yield 'has no canaries: -fstack-protector-strong'
    if is_program and not re.search(r'__\w+_chk@', symbols.replace('__stack_chk', '')):
        yield 'has no checked calls: -D_FORTIFY_SOURCE'
    if 'X86-64' in header and text_section(path, readelf(path, '-S')).count(ENDBR64) < 5:
        yield 'has functions without endbr64: -fcf-protection'


def main():
    if len(sys.argv) < 2: sys.exit(__doc__)
    failed = False
    for path in sys.argv[1:]:
        missing = list(missing_in(path))
        failed |= bool(missing)
        print('%s: %s' % (path, '; '.join(missing) or 'hardened'))
    sys.exit(failed)


main()
