"""scripts/dev/check_nets.py: the tree has no published net, whatever its names, comments and blanks are."""
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'scripts/dev'))
import check_nets  # noqa: E402

NET = '''name: "one"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 } } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 5 }
        param { lr_mult: 0.10 } }
'''
SAME = '''# another spelling
layer: < top: 'data' name: 'data' input_param: { shape: { dim: [2, 3] } } type: 'In' "put" >, layer { type:
  "InnerProduct" param { lr_mult: 1e-1 };  bottom: "data" top: "ip" name: "ip"
  inner_product_param { num_output: 5. } }'''
OTHERS = [('num_output: 5', 'num_output: 6'), ('lr_mult: 0.10', 'lr_mult: 0.2'), ('"Input"', '"DummyData"'),
          ('bottom: "data"', 'bottom: "ip"'), ('dim: 2 dim: 3', 'dim: 3 dim: 2')]


def test_the_tree_has_none():
    files = check_nets.files_of_tree()
    assert len(files) > 150 and check_nets.LIST.read_text().count('\n') > 800
    assert [path for path in files if check_nets.hash_of(path.read_text()) is None] == []
    assert check_nets.published(files, set(check_nets.LIST.read_text().split())) == []


def test_spelling_does_not_matter(tmp_path):
    copy = tmp_path / 'copy.prototxt'
    copy.write_text(SAME)
    assert check_nets.published([copy], {check_nets.hash_of(NET)}) == [copy]


@pytest.mark.parametrize('old, new', OTHERS)
def test_other_nets_differ(old, new):
    assert NET.count(old) >= 1
    assert check_nets.hash_of(NET.replace(old, new)) != check_nets.hash_of(NET)


def test_renaming_is_no_other_net():
    renamed = NET.replace('"data"', '"pixels"').replace('"ip"', '"score"').replace('"one"', '"two"')
    assert check_nets.hash_of(renamed) == check_nets.hash_of(NET)


@pytest.mark.parametrize('text', ['', '# nothing', 'layer {', 'name: "only a name"', '\x00'])
def test_what_is_no_net_has_no_hash(text):
    assert check_nets.hash_of(text) is None
