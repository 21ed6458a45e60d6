"""The modules `cortado` and `caffe` of the build folder."""
import glob, os, sys

import pytest


def use_built_module():
    """Must be called before importing them; skips the file's tests if they were not built."""
    folder = os.environ['CORTADO_BUILD'] + '/python'
    if not glob.glob(folder + '/cortado/_cortado*'): pytest.skip('built without the module', allow_module_level=True)
    sys.path.insert(0, folder)
