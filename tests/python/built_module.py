"""The modules `cortado` and `caffe` of the build folder."""
import glob, os, sys

import pytest


def use_built_module():
    """Call it before importing them; it skips the file's tests where they were not built."""
    folder = os.environ['CORTADO_BUILD'] + '/python'
    if not glob.glob(folder + '/cortado/_cortado*'): pytest.skip('built without the module', allow_module_level=True)
    sys.path.insert(0, folder)
