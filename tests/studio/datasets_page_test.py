"""The pages of datasets and files, in a browser: a dataset's classes, samples, duplicates and damaged images; uploads,
renaming, the bin; the list of runs and their comparison."""
import base64, json, shutil

import pytest

from tests.studio.accessibility import read_page
from tests.studio.pages import by_text, choose, control, open_studio, unexpected
from tests.studio.studying import add_photos, first_photo


@pytest.fixture(scope='module')
def place(tmp_path_factory):
    """Photos of three classes: eight of them twice, one of them also under another class, and one damaged."""
    place = add_photos(tmp_path_factory.mktemp('studio'), classes=3)
    photos = sorted((place / 'photos/trouser').iterdir())
    for photo in photos[:8]: shutil.copy(photo, place / 'photos/trouser' / ('copy_' + photo.name))
    shutil.copy(photos[9], place / 'photos/tshirt/trouser.jpg')
    (place / 'photos/tshirt/damaged.jpg').write_bytes(photos[0].read_bytes()[:200])
    return place


@pytest.fixture(scope='module')
def dataset(start_studio, place):
    with start_studio() as studio:
        job = studio.finished(studio.post('/api/datasets', name='cloths', source='photos', side=28, gray=True,
                                          **{'skip-bad': True})['job'])
        assert job['state'] == 'done' and job['progress']['done'] == job['progress']['total'] > 0, job
        assert job['progress']['pass'] == 2 and 'progress.cc' not in job['output'], 'checked, then written'
    return 'data/cloths'


@pytest.fixture
def page(studio, browser):
    """Opens a page of the studio; fails on errors in its console and findings of read_page()."""
    open_studio(browser, studio)
    def show(fragment, until):
        browser.value('location.hash = %s' % json.dumps(fragment))
        browser.wait_for(until)
    yield show
    assert not unexpected(browser, 409, 415)


def text_of(selector):
    return '[...document.querySelectorAll(%s)].map(one => one.textContent).join("|")' % json.dumps(selector)


def press_in_dialog(browser, label):
    browser.wait_for(by_text('dialog[open] button', label))
    browser.click(by_text('dialog[open] button', label))


def test_report(studio, dataset):
    """What a page shows about a dataset. It is read by a job, once."""
    assert studio.get('/api/dataset', path=dataset)['report'] is None
    job = studio.post('/api/dataset/read', path=dataset)['job']
    assert studio.finished(job)['state'] == 'done'
    one = studio.get('/api/dataset', path=dataset)
    train, test = one['report']
    assert (train['set'], test['set']) == ('train', 'test') and train['leaks'] == 0
    assert train['doubles'] + test['doubles'] == 9, 'eight copies and one under another class'
    assert train['contradictions'] + test['contradictions'] == 1
    for double in test['told_doubles']: assert double['first_set'] in ('train', 'test')
    pictures = studio.post('/api/dataset/pictures', path=dataset, set='train',
                           keys=[*train['per_label'][0]['samples'], 'none'])['pictures']
    assert len(pictures) == 8 and pictures[0]['height'] == 28 and pictures[0]['type'] == 'image/png'
    status, told, _ = studio.ask('POST', '/api/dataset/pictures', {'path': dataset, 'set': 'other', 'keys': []})
    assert status == 404 and 'other' in told['error']


def test_pictures_of_large_images_are_reduced(studio, place, run):
    numpy, cv2 = pytest.importorskip('numpy'), pytest.importorskip('cv2')
    for folder in ('wide/one', 'data/wide'): (place / folder).mkdir(parents=True)
    for name, (height, width) in (('a', (300, 600)), ('b', (130, 100))):
        image = numpy.full((height, width, 3), 40, 'u1')
        image[:, width // 2:] = 200
        cv2.imwrite(str(place / 'wide/one' / (name + '.png')), image)
    run('convert', 'folder', 'wide', '-o', 'data/wide/train_lmdb', cwd=place)
    studio.finished(studio.post('/api/dataset/read', path='data/wide')['job'])
    keys = studio.get('/api/dataset', path='data/wide')['report'][0]['per_label'][0]['samples']
    pictures = studio.post('/api/dataset/pictures', path='data/wide', set='train', keys=keys)['pictures']
    for picture, (height, width) in zip(sorted(pictures, key=lambda one: -one['width']), ((56, 112), (112, 86))):
        bytes_ = numpy.frombuffer(base64.b64decode(picture['data']), 'u1')
        image = cv2.imdecode(bytes_, cv2.IMREAD_COLOR)
        assert image.shape == (height, width, 3)
        assert abs(image[:, :width // 2 - 2].mean() - 40) < 3 and abs(image[:, width // 2 + 2:].mean() - 200) < 3


def test_changed_dataset_is_read_again(studio, place, dataset):
    shutil.copytree(place / dataset, place / 'data/changing')
    def report(): return studio.get('/api/dataset', path='data/changing')['report']
    studio.finished(studio.post('/api/dataset/read', path='data/changing')['job'])
    assert report()
    shutil.rmtree(place / 'data/changing/test_lmdb')
    assert report() is None
    (place / 'data/changing/train_lmdb/data.mdb').write_bytes(b'damaged')
    job = studio.finished(studio.post('/api/dataset/read', path='data/changing')['job'])
    assert job['state'] == 'failed' and 'data.mdb' in job['output'] or 'train_lmdb' in job['output']
    assert report() is None
    shutil.rmtree(place / 'data/changing')


def test_datasets_page(browser, page, dataset):
    page('#/datasets', by_text('.card a', dataset))
    assert '3 classes' in browser.value(text_of('.card p'))
    read_page(browser, 'datasets')
    page('#/dataset?path=' + dataset, 'document.querySelector(".figures")')
    browser.wait_for('[...document.querySelectorAll(".thumbnail")].every(one => one.naturalWidth > 0)')
    figures = browser.value(text_of('.figures dd span'))
    assert figures.split('|')[2:4] == ['3', '28 × 28'], figures
    assert browser.value('document.querySelectorAll(".samples .thumbnail").length') == 24
    page_text = browser.value('document.querySelector("main").innerText')
    for words in 'another class: one is wrong', 'Files that were left out', 'photos/tshirt/damaged.jpg', 'copy_':
        assert words in page_text
    assert '{' not in page_text.split('Augmentation')[0], 'raw JSON'
    assert browser.value('document.title').startswith('data/cloths – ')
    read_page(browser, 'dataset')


def test_progress(browser, page, place, studio):
    """A bar with counts while a dataset is made; Stop leaves nothing."""
    page('#/datasets', by_text('.chooser .name', 'photos'))
    browser.click(by_text('.chooser .name', 'photos'))
    browser.wait_for('document.querySelector("output").textContent.startsWith("photos")')
    browser.type(control('Name'), 'large')
    browser.type(control('Side, pixels'), '1500')
    browser.click(by_text('button', 'Create dataset'))
    browser.wait_for('document.querySelector(".job progress")?.value > 0')
    assert ' of 277 images' in browser.value('document.querySelector(".job").textContent')
    read_page(browser, 'progress')
    browser.click(by_text('.job button', 'Stop'))
    browser.wait_for('document.querySelector(".error:not([hidden])")?.textContent === "Stopped."')
    assert not list(place.glob('data/large*'))


def test_boxes(browser, page, place):
    """A dataset for a detector, from images and annotations in two folders."""
    (place / 'objects/notes').mkdir(parents=True)
    for i, photo in enumerate(sorted((place / 'photos/trouser').glob('0*.jpg'))[:10]):
        shutil.copy(photo, place / ('objects/%d.jpg' % i))
        (place / ('objects/notes/%d.xml' % i)).write_text(
            '<annotation><object><name>leg</name><bndbox><xmin>4</xmin><ymin>2</ymin><xmax>20</xmax><ymax>27</ymax>'
            '</bndbox></object></annotation>')
    page('#/datasets', by_text('.chooser .name', 'objects'))
    choose(browser, 'The dataset is for', 'boxes')
    assert 'PASCAL VOC' in browser.value('document.querySelector("main").innerText')
    browser.click(by_text('.chooser .name', 'objects'))
    browser.wait_for('document.querySelector("output").textContent.startsWith("objects")')
    browser.type(control('Name'), 'boxes')
    browser.type(control('Side, pixels'), '64')
    browser.click(by_text('button', 'Create dataset'))
    browser.wait_for(by_text('h1', 'data/boxes'))
    browser.wait_for('document.querySelectorAll(".samples .thumbnail").length === 8')
    assert 'Training objects of each class' in browser.value('document.querySelector("main").innerText')
    assert (place / 'data/boxes/labelmap.prototxt').exists() and not list((place / '.studio/lists').iterdir())
    read_page(browser, 'boxes')


def test_upload(browser, page, place, tmp_path):
    photo = first_photo(place, 'trouser')
    page('#/files?path=photos', by_text('.name', 'trouser'))
    read_page(browser, 'files')
    folder = tmp_path / 'upload'
    folder.mkdir()
    shutil.copy(photo, folder / 'new photo ä.jpg')
    page('#/files?path=photos%2Ftrouser', 'document.querySelectorAll("tbody tr").length > 10')
    for name, words in (('new photo ä.jpg', 'Uploaded: 1 of 1'), ('new photo ä.jpg', 'exists already')):
        browser.choose_files('input[type=file]', folder / name)
        browser.wait_for('document.querySelector(".job")?.textContent.includes(%s)' % json.dumps(words))
    assert (place / 'photos/trouser/new photo ä.jpg').read_bytes() == photo.read_bytes()
    (folder / 'run.sh').write_text('x')
    browser.choose_files('input[type=file]', folder / 'run.sh')
    browser.wait_for('document.querySelector(".job")?.textContent.includes("neither an image")')
    assert not (place / 'photos/trouser/run.sh').exists()
    read_page(browser, 'uploaded')
    browser.click(by_text('.name', 'new photo ä.jpg'))
    browser.wait_for('document.querySelector("dialog[open] img")?.naturalWidth === 28')
    read_page(browser, 'image')
    press_in_dialog(browser, 'Close')
    for i in range(300): (place / ('photos/trouser/more%d.txt' % i)).touch()
    page('#/files?path=photos', by_text('.name', 'trouser'))
    page('#/files?path=photos%2Ftrouser', 'document.querySelectorAll("tbody tr").length === 200')
    browser.click(by_text('button', 'Show all 393 entries'))
    browser.wait_for('document.querySelectorAll("tbody tr").length === 393')
    for path in (place / 'photos/trouser').glob('more*'): path.unlink()


def test_rename_delete_restore(browser, page, place):
    names = 'document.querySelectorAll("tbody .name")'
    page('#/files?path=photos', by_text('.name', 'trouser'))
    browser.click('document.querySelector("[aria-label=\'Rename trouser\']")')
    browser.wait_for('document.querySelector("dialog[open] input")')
    read_page(browser, 'rename')
    browser.type('document.querySelector("dialog input")', 'trousers')
    press_in_dialog(browser, 'Rename')
    browser.wait_for(by_text('.name', 'trousers'))
    assert (place / 'photos/trousers').is_dir()
    browser.value('%s[0].focus()' % names)
    browser.press('ArrowDown')
    assert browser.value('document.activeElement.textContent') == browser.value(names + '[1].textContent')
    browser.press('F2')
    browser.wait_for('document.querySelector("dialog[open] input")')
    press_in_dialog(browser, 'Cancel')
    browser.click('document.querySelector("[aria-label=\'Delete trousers\']")')
    press_in_dialog(browser, 'Cancel')
    assert (place / 'photos/trousers').is_dir()
    browser.click('document.querySelector("[aria-label=\'Delete trousers\']")')
    press_in_dialog(browser, 'Delete')
    browser.wait_for(by_text('summary', 'Bin (1)'))
    assert not (place / 'photos/trousers').exists()
    browser.click(by_text('summary', 'Bin (1)'))
    read_page(browser, 'bin')
    browser.click('document.querySelector("[aria-label=\'Restore photos/trousers\']")')
    browser.wait_for(by_text('.name', 'trousers'))
    (place / 'photos/trousers').rename(place / 'photos/trouser')
