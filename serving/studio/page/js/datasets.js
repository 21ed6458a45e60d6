// Datasets: the list, and a form that makes one from a folder of images.
import {get, post, showMessage} from '/js/api.js';
import {folderChooser, select} from '/js/chooser.js';
import {check, field, form, h, nameInput} from '/js/dom.js';
import {finished} from '/js/jobs.js';
import {nameOf, thumbnail} from '/js/pictures.js';

const address = (path) => '#/dataset?' + new URLSearchParams({path});
const kSteps = ['Checking images', 'Writing the dataset'];
const kShown = 5;  // pictures on a card

/** What a dataset is for: [label, what its folder contains]. */
const kKinds = {
  classes: ['a classifier', 'The folder has a subfolder of images for each class.'],
  boxes: [
    'a detector',
    'Each image has an .xml (PASCAL VOC) or .txt file of the same name with its boxes, in its own folder or another ' +
        'one; or one .json file (COCO) is next to the images or to the folder images.'
  ],
};

function maker(isGone) {
  const kind = select(Object.entries(kKinds).map(([key, [label]]) => [key, label]), 'classes'),
        meaning = h('p', {className: 'note quiet'});
  const explain = () => {
    meaning.textContent = kKinds[kind.value][1];
  };
  kind.onchange = explain;
  explain();
  const source = folderChooser('Folder of the images');
  const name = nameInput('flowers');
  const split = h('input', {type: 'number', min: 0.01, max: 0.9, step: 0.01, value: 0.2});
  const resize = select(
      [['square', 'to a square of this side'], ['short', 'short side to this'], ['none', 'keep sizes']], 'square');
  const side = h('input', {type: 'number', min: 1, max: 4096, value: 64});
  const gray = h('input', {type: 'checkbox'}), encoded = h('input', {type: 'checkbox'}),
        skip = h('input', {type: 'checkbox', checked: true}), progress = h('div');
  resize.onchange = () => {
    side.disabled = resize.value === 'none';
  };
  const fields = [
    h('div', {className: 'fields'}, field('The dataset is for', kind)),
    meaning,
    source.element,
    h('p', {className: 'note'},
      'Images that are not there yet: ', h('a', {href: '#/files?path=photos'}, 'upload a folder'), '.'),
    h('div', {className: 'fields'}, field('Name', name, 'stored in data/NAME'),
      field('Test fraction', split, 'of each class, kept for testing'), field('Resize images', resize),
      field('Side, pixels', side)),
    h('div', {className: 'row'}, check('grayscale', gray), check('keep as JPEG', encoded),
      check('skip damaged images', skip)),
  ];
  const element = form(fields, 'Create dataset', async () => {
    const {job, path} = await post('/api/datasets', {
      name: name.value,
      kind: kind.value,
      source: source.value(),
      split: Number(split.value),
      resize: resize.value,
      side: Number(side.value),
      gray: gray.checked,
      encoded: encoded.checked,
      'skip-bad': skip.checked
    });
    if (!await finished(job, progress, skip.checked || kind.value === 'classes' ? kSteps : kSteps.slice(1), isGone))
      return;
    showMessage(`${path} was created`);
    location.hash = address(path);
  });
  source.open('');
  return h('section', {className: 'panel'}, element, progress);
}

/** Fills a row of pictures with the first training images. */
async function fill(row, path) {
  const {pictures} = await post('/api/dataset/pictures', {path, set: 'train', first: kShown});
  row.replaceChildren(...pictures.map((one) => thumbnail(one, nameOf(one.key))));
}

function card(one) {
  const report = one.made?.report, train = report?.written || 0, test = report?.test?.written || 0;
  const facts = [
    one.labels.length > 0 ? `${one.labels.length} ${one.labels.length === 1 ? 'class' : 'classes'}` : null,
    train > 0 ? `${train} training and ${test} test images` : null,
    report?.shape?.[1] > 0 && !report.mixed_sizes ? `${report.shape[2]}\u00a0×\u00a0${report.shape[1]} pixels` : null,
  ].filter(Boolean);
  const pictures = h('div', {className: 'thumbnails', 'aria-hidden': 'true'});
  fill(pictures, one.path).catch(() => pictures.remove());
  return h(
      'section', {className: 'panel card'}, h('h2', {}, h('a', {href: address(one.path)}, one.path)), pictures,
      h('p', {}, facts.join(', ')),
      one.labels.length > 0 ? h('p', {className: 'quiet note cut'}, one.labels.slice(0, 30).join(', ')) : null,
      h('div', {className: 'row'},
        h('a', {
          className: 'button',
          href: '#/new?' + new URLSearchParams({data: one.path}),
          'aria-label': `Train on it: ${one.path}`
        },
          'Train on it')));
}

export async function datasets(place) {
  const listed = await get('/api/datasets'), all = listed.filter((one) => !one.problem),
        odd = listed.filter((one) => one.problem);
  let gone = false;
  place.append(
      h('h1', {}, 'Datasets'),
      all.length > 0 ?
          h('div', {className: 'cards'}, all.map(card)) :
          h('p', {className: 'panel'},
            'There are no datasets yet. Make one from a folder that has a subfolder of images for each class.'),
      ...odd.map((one) => h('p', {className: 'quiet'}, `${one.path} is not shown: ${one.problem}`)),
      h('h2', {}, 'New dataset'), maker(() => gone));
  return () => {
    gone = true;
  };
}
