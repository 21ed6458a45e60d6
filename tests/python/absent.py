#!/usr/bin/python3
"""Cortado without libcortado_python.so, or with a file in its place that is none: an error, or a warning where data is
not wanted. absent.py CORTADO
"""
import os
import shutil
import subprocess
import sys
import tempfile

NET = '''layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 2 } } }
layer { name: "py" type: "Python" bottom: "x" top: "y" python_param { module: "m" layer: "L" } }
'''


def main():
    given = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.mkdir('bin')
        program = os.path.join(folder, 'bin', 'cortado')
        shutil.copy(given, program)  # not a link: the library is looked for where the program really is
        with open('net', 'w') as file:
            file.write(NET)

        def check(code, words, *flags):
            done = subprocess.run([program, 'check', 'net', *flags], capture_output=True, text=True, timeout=60)
            assert done.returncode == code and words in done.stderr, (done.returncode, done.stderr)

        told = 'this build does not run Python: libcortado_python.so is not beside the program'
        check(3, "net:2:26: error: layer 'py' (Python): " + told)
        check(3, 'hint: apt install python3-dev python3-numpy, then build again')
        check(0, "layer 'py' (Python) is not run, and its shapes are unknown: " + told, '--no-data')
        with open('bin/libcortado_python.so', 'w') as file:
            file.write('no library')
        check(3, 'file too short')
        check(0, 'shapes are unknown', '--no-data')
        os.remove('bin/libcortado_python.so')
        library = os.path.join(os.path.dirname(given), 'libcortado_python.so')
        if os.path.exists(library):
            shutil.copy(library, 'bin')
            check(3, "there is no module 'm'")
            os.environ['PYTHONHOME'] = folder
            check(3, 'Python does not start')
    print('all was told')


main()
