// Datasets: created from a folder of images, and shown with augmentation.
import {get, post, showMessage} from '/js/api.js';
import {folderChooser, select} from '/js/chooser.js';
import {check, field, form, h} from '/js/dom.js';

/** The augmentations: [name, label, maximum, step]. */
const kChanges = [
  ['crop_size', 'Crop size', 1024, 1],
  ['short_side', 'Resize short side to', 1024, 1],
  ['resized_crop', 'Random crop, min. area', 1, 0.01],
  ['flip_h', 'Flip horizontally', 1, 0.05],
  ['flip_v', 'Flip vertically', 1, 0.05],
  ['rotate', 'Rotate, degrees', 180, 1],
  ['shear', 'Shear, degrees', 60, 1],
  ['translate', 'Translate, fraction', 1, 0.01],
  ['brightness', 'Brightness', 1, 0.05],
  ['contrast', 'Contrast', 1, 0.05],
  ['saturation', 'Saturation', 1, 0.05],
  ['hue', 'Hue', 0.5, 0.01],
  ['grayscale', 'Grayscale', 1, 0.05],
  ['blur', 'Blur', 1, 0.05],
  ['noise', 'Noise, gray levels', 255, 1],
  ['erase', 'Erase a part', 1, 0.05],
];

const kNoChange = 'transform_param { } – images unchanged';

/** Waits for a job: `show` gets its output and its running time. */
async function finished(job, show) {
  for (const begin = Date.now();;) {
    const now = await get('/api/job', {id: job}), seconds = Math.round((Date.now() - begin) / 1000);
    show(now.output.trim().split('\n').slice(-6).join('\n'), `${seconds} s`);
    if (now.state === 'done') return;
    if (now.state === 'stopped') throw new Error('the job was stopped; no dataset was created');
    if (now.state !== 'running') throw new Error(now.output.trim() || now.state);
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}

function maker(refresh) {
  const source = folderChooser('Folder with a subfolder of images for each class');
  const name =
      h('input',
        {required: true, pattern: '[A-Za-z0-9_][A-Za-z0-9_.\\-]{0,63}', spellcheck: false, placeholder: 'flowers'});
  const split = h('input', {type: 'number', min: 0.01, max: 0.9, step: 0.01, value: 0.2});
  const resize = select(
      [['square', 'to a square of this side'], ['short', 'short side to this'], ['none', 'keep sizes']], 'square');
  const side = h('input', {type: 'number', min: 1, max: 4096, value: 64});
  const gray = h('input', {type: 'checkbox'}), encoded = h('input', {type: 'checkbox'}),
        skip = h('input', {type: 'checkbox', checked: true});
  const log = h('pre', {className: 'log', hidden: true, role: 'log', 'aria-label': 'Output of the conversion'});
  const since = h('span', {}), stop = h('button', {type: 'button'}, 'Stop'),
        working = h('p', {className: 'row', hidden: true}, since, stop);
  const fields = [
    source.element,
    h('div', {className: 'fields'}, field('Name', name, 'stored in data/NAME'), field('Test fraction', split),
      field('Resize images', resize), field('Side, pixels', side)),
    h('div', {className: 'row'}, check('grayscale', gray), check('keep as JPEG', encoded),
      check('skip damaged images', skip)),
  ];
  const element = form(fields, 'Create dataset', async () => {
    const {job, path} = await post('/api/datasets', {
      name: name.value,
      source: source.value(),
      split: Number(split.value),
      resize: resize.value,
      side: Number(side.value),
      gray: gray.checked,
      encoded: encoded.checked,
      'skip-bad': skip.checked
    });
    stop.onclick = () => post('/api/job/stop', {id: job}).catch((error) => showMessage(error.message));
    working.hidden = false;
    try {
      await finished(job, (text, time) => {
        since.textContent = `Converting: ${time}`;
        log.textContent = text;
        log.hidden = !text;
      });
    } finally {
      working.hidden = true;
    }
    showMessage(`${path} was created`);
    await refresh(path);
  });
  source.open('');
  return h('section', {}, element, working, log);
}

/** The classes, with the number of images of each if the conversion report has it. */
function classes(one) {
  const names = one.labels, report = one.made?.report, counts = report?.per_label;
  if (names.length === 0) return null;
  if (!counts || counts.length !== names.length) return h('p', {}, `${names.length} classes: ${names.join(', ')}`);
  const place = h('div');
  Charts.bars(place, {title: 'Training images', labels: names, values: counts});
  const total = counts.reduce((a, b) => a + b, 0);
  const text = `${names.length} classes, ${total} training images, ${report.test?.written ?? 0} test images`;
  return h('div', {}, h('p', {}, text), h('details', {}, h('summary', {}, 'Images per class'), place));
}

function preview(one) {
  const inputs = new Map(kChanges.map(
      ([name, label, most, step]) => [name, [label, h('input', {type: 'number', min: 0, max: most, step, value: 0})]]));
  const epoch = h('input', {type: 'number', min: 0, step: 1, value: 0});
  const image = h('img', {className: 'sheet', alt: `samples of ${one.path}`, hidden: true}),
        text = h('pre', {}, kNoChange);
  const element = form(
      h('div', {className: 'fields small'}, [...inputs.values()].map(([label, input]) => field(label, input)),
        field('Epoch', epoch, 'selects other random values')),
      'Show samples', async () => {
        const transform = {};
        for (const [name, [, input]] of inputs)
          if (Number(input.value) > 0) transform[name] = Number(input.value);
        const sheet =
            await post('/api/sheet', {path: one.path, count: 32, columns: 8, epoch: Number(epoch.value), transform});
        image.src = 'data:image/png;base64,' + sheet.png;
        image.hidden = false;
        text.textContent = sheet.transform.trim() || kNoChange;
      });
  return h(
      'details', {}, h('summary', {}, 'Samples and augmentation'), element, image,
      h('p', {className: 'quiet'}, 'The options of the data layer:'), text);
}

function shown(one) {
  const report = one.made?.report;
  return h(
      'section', {className: 'panel'},
      h('div', {className: 'title'}, h('h3', {}, one.path),
        h('a', {className: 'button', href: '#/new?' + new URLSearchParams({data: one.path})}, 'Train on it')),
      one.made ? h('p', {className: 'quiet'}, `from ${one.made.source}`) : null, classes(one),
      report ? h('details', {}, h('summary', {}, 'Conversion report'), h('pre', {}, JSON.stringify(report, null, 2))) :
               null,
      preview(one));
}

export async function datasets(place) {
  const list = h('div');
  const refresh = async () => {
    const all = await get('/api/datasets');
    list.replaceChildren(...all.map(shown));
    if (all.length === 0) list.append(h('p', {className: 'quiet'}, 'None in this folder yet.'));
  };
  place.append(
      h('h1', {}, 'Datasets'), h('h2', {}, 'In this folder'), list, h('h2', {}, 'New dataset from a folder of images'),
      maker(refresh));
  await refresh();
}
