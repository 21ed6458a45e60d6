"""Datasets in which samples have equal names or keys: every conversion keeps all of them, or refuses with the place."""
import io, json, tarfile

import pytest

from tests.cli.fixtures import idx, label_of, read_lmdb, write

PICTURES = [b'P5 4 4 255\n' + bytes([level] * 16) for level in (10, 60, 110, 160)]


def shard(path, *members):
    """Members are (NAME, number of a picture) or (NAME, text)."""
    with tarfile.open(path, 'w') as archive:
        for name, what in members:
            content = PICTURES[what] if isinstance(what, int) else what.encode()
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def written(path):
    """(label, number of a picture) of each record."""
    return [(label_of(value), [i for i, picture in enumerate(PICTURES) if picture[-16:] in value][0])
            for _, value in read_lmdb(path)]


TWICE = [('0.pgm', 0), ('0.cls', 'a'), ('1.pgm', 1), ('1.cls', 'b')]


@pytest.mark.parametrize('members, expected', [
    (TWICE + [('0.pgm', 2), ('0.cls', 'b'), ('1.pgm', 3), ('1.cls', 'a')], [(0, 0), (1, 1), (1, 2), (0, 3)]),
    ([('0.pgm', 0), ('0.cls', 'a'), ('0.pgm', 1), ('0.cls', 'b')], [(0, 0), (1, 1)]),
    ([('0.cls', 'a'), ('0.pgm', 0), ('0.cls', 'b'), ('0.pgm', 1)], [(0, 0), (1, 1)]),
    ([('0.PGM', 0), ('0.CLS', 'a'), ('0.json', '{}'), ('0.pgm', 1), ('0.cls', 'b')], [(0, 0), (1, 1)]),
    ([('0.pgm', 0), ('1.pgm', 1), ('0.cls', 'a'), ('1.cls', 'b')], [(0, 0), (1, 1)]),
    ([('x/0.pgm', 0), ('x/0.cls', 'a'), ('y/0.pgm', 1), ('y/0.cls', 'b')], [(0, 0), (1, 1)])],
    ids=['again', 'successive', 'class first', 'capitals', 'apart', 'folders'])
def test_shards_with_equal_keys(run, folder, members, expected):
    shard(folder / 's.tar', *members)
    run('convert', 'tar', 's.tar', '-o', 'db')
    assert written('db') == expected


@pytest.mark.parametrize('members, fault', [
    (TWICE + [('0.pgm', 2)], "sample '0' has no class"),
    (TWICE + [('0.cls', 'a')], "sample '0' has no image"),
    ([('0.pgm', 0), ('1.pgm', 1), ('1.cls', 'a'), ('0.pgm', 2), ('0.cls', 'a')], "sample '0' has no class"),
    ([('0.pgm', 0), ('0.jpg', 1), ('0.cls', 'a')], "sample '0' has 2 images: 0.pgm and 0.jpg"),
    ([('0.pgm', 0), ('0.cls', 'a' * 5000)], "sample '0' has a class (.cls) of 5000 bytes")],
    ids=['no class', 'no image', 'unknown pairs', 'two images', 'long class'])
def test_shards_that_are_refused(run, folder, members, fault):
    shard(folder / 's.tar', *members)
    assert 's.tar: error: ' + fault in run('convert', 'tar', 's.tar', '-o', 'db', code=4).stderr


def test_two_shards_with_the_same_keys(run, folder):
    for name in 'a.tar', 'b.tar': shard(folder / name, *TWICE)
    run('convert', 'tar', 'a.tar', 'b.tar', 'a.tar', '-o', 'db')
    assert written('db') == [(0, 0), (1, 1)] * 3


def test_folders_and_lists(run, folder):
    for name, picture in ('a', 0), ('b', 1):
        (folder / 'photos' / name).mkdir(parents=True)
        for file in '0.pgm', '0.x.pgm': write('photos/%s/%s' % (name, file), PICTURES[picture])
    run('convert', 'folder', 'photos', '-o', 'of_folder')
    assert sorted(written('of_folder')) == [(0, 0)] * 2 + [(1, 1)] * 2
    (folder / 'list.txt').write_text('a/0.pgm 0\nb/0.pgm 1\na/0.pgm 0\na/0.pgm 5\n')
    run('convert', 'imageset', 'photos/', 'list.txt', '-o', 'of_list')
    assert written('of_list') == [(0, 0), (1, 1), (0, 0), (5, 0)]
    (folder / 'table.csv').write_text('path,label\nphotos/a/0.pgm,x\nphotos/b/0.pgm,y\nphotos/a/0.pgm,x\n')
    run('convert', 'csv', 'table.csv', '-o', 'of_table')
    assert written('of_table') == [(0, 0), (1, 1), (0, 0)]


def test_annotations(run, folder):
    write('0.pgm', PICTURES[0])
    (folder / '0.txt').write_text('cat 0 0 2 2\n')
    (folder / 'list.txt').write_text('0.pgm 0.txt\n' * 3)
    run('convert', 'annoset', './', 'list.txt', '-o', 'of_list')
    assert len(read_lmdb('of_list')) == 3
    image = {'file_name': '0.pgm', 'height': 4, 'width': 4}
    def coco(ids, categories=(1, 2)):
        (folder / 'set.json').write_text(json.dumps({
            'images': [{'id': id, **image} for id in ids], 'annotations': [],
            'categories': [{'id': id, 'name': 'thing %d' % i} for i, id in enumerate(categories)]}))
        return 'convert', 'annoset', './', 'set.json', '-o', 'of_coco', '--force'
    run(*coco([1, 2]))
    assert len(read_lmdb('of_coco')) == 2
    assert 'two images have the id 3' in run(*coco([1, 3, 3]), code=4).stderr
    assert 'two categories have the id 2' in run(*coco([1], (2, 2)), code=4).stderr


def test_merged_sets(run, folder):
    idx('images', 'labels', n=4)
    for name in 'one', 'two': run('convert', 'idx', 'images', 'labels', '-o', name)
    run('data', 'merge', 'one', 'two', '-o', 'both')
    assert len(read_lmdb('both')) == 8
