// Datasets: made of a folder of images, and shown as training sees them.
import {get, post, tell} from '/js/api.js';
import {folderChooser, select} from '/js/chooser.js';
import {check, field, form, h} from '/js/dom.js';

/** Of the changes that images go through in training: [name, label, most, step]. */
const kChanges = [
  ['crop_size', 'Crop to side', 1024, 1],
  ['short_side', 'Short side first', 1024, 1],
  ['resized_crop', 'Random part, least share', 1, 0.01],
  ['flip_h', 'Left for right', 1, 0.05],
  ['flip_v', 'Upside down', 1, 0.05],
  ['rotate', 'Turn, degrees', 180, 1],
  ['shear', 'Shear, degrees', 60, 1],
  ['translate', 'Shift, share', 1, 0.01],
  ['brightness', 'Brightness', 1, 0.05],
  ['contrast', 'Contrast', 1, 0.05],
  ['saturation', 'Saturation', 1, 0.05],
  ['hue', 'Hue', 0.5, 0.01],
  ['grayscale', 'Grey', 1, 0.05],
  ['blur', 'Blur', 1, 0.05],
  ['noise', 'Noise, grey levels', 255, 1],
  ['erase', 'Erase a part', 1, 0.05],
];

const kNoChange = 'transform_param { } – images as they are';

/** Waits for a job: `show` gets what it says, and for how long it has run. */
async function finished(job, show) {
  for (const begin = Date.now();;) {
    const now = await get('/api/job', {id: job}), seconds = Math.round((Date.now() - begin) / 1000);
    show(now.told.trim().split('\n').slice(-6).join('\n'), `${seconds} s`);
    if (now.state === 'done') return;
    if (now.state === 'stopped') throw new Error('it was stopped, and nothing was made');
    if (now.state !== 'running') throw new Error(now.told.trim() || now.state);
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}

function maker(refresh) {
  const source = folderChooser('Folder with a folder of images for each class');
  const name =
      h('input',
        {required: true, pattern: '[A-Za-z0-9_][A-Za-z0-9_.\\-]{0,63}', spellcheck: false, placeholder: 'flowers'});
  const split = h('input', {type: 'number', min: 0.01, max: 0.9, step: 0.01, value: 0.2});
  const resize = select(
      [['square', 'a square of this side'], ['short', 'the short side to this'], ['none', 'sizes as they are']],
      'square');
  const side = h('input', {type: 'number', min: 1, max: 4096, value: 64});
  const gray = h('input', {type: 'checkbox'}), encoded = h('input', {type: 'checkbox'}),
        skip = h('input', {type: 'checkbox', checked: true});
  const log = h('pre', {className: 'log', hidden: true, role: 'log', 'aria-label': 'What the conversion says'});
  const since = h('span', {}), stop = h('button', {type: 'button'}, 'Stop'),
        working = h('p', {className: 'row', hidden: true}, since, stop);
  const fields = [
    source.element,
    h('div', {className: 'fields'}, field('Name', name, 'it will be data/NAME'), field('Share for testing', split),
      field('Images become', resize), field('Side, pixels', side)),
    h('div', {className: 'row'}, check('grey', gray), check('keep as JPEG', encoded),
      check('leave broken images out', skip)),
  ];
  const element = form(fields, 'Make the dataset', async () => {
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
    stop.onclick = () => post('/api/job/stop', {id: job}).catch((error) => tell(error.message));
    working.hidden = false;
    try {
      await finished(job, (text, time) => {
        since.textContent = `The images are read: ${time}`;
        log.textContent = text;
        log.hidden = !text;
      });
    } finally {
      working.hidden = true;
    }
    tell(`${path} is made`);
    await refresh(path);
  });
  source.open('');
  return h('section', {}, element, working, log);
}

/** The classes, with how many images of each there are where the report of the conversion tells. */
function classes(one) {
  const names = one.labels, report = one.made?.report, counts = report?.per_label;
  if (names.length === 0) return null;
  if (!counts || counts.length !== names.length) return h('p', {}, `${names.length} classes: ${names.join(', ')}`);
  const place = h('div');
  Charts.bars(place, {title: 'Images for training', labels: names, values: counts});
  const total = counts.reduce((a, b) => a + b, 0);
  const text = `${names.length} classes, ${total} images for training, ${report.test?.written ?? 0} for testing`;
  return h('div', {}, h('p', {}, text), h('details', {}, h('summary', {}, 'Images of each class'), place));
}

function preview(one) {
  const inputs = new Map(kChanges.map(
      ([name, label, most, step]) => [name, [label, h('input', {type: 'number', min: 0, max: most, step, value: 0})]]));
  const epoch = h('input', {type: 'number', min: 0, step: 1, value: 0});
  const image = h('img', {className: 'sheet', alt: `samples of ${one.path}`, hidden: true}),
        text = h('pre', {}, kNoChange);
  const element = form(
      h('div', {className: 'fields small'}, [...inputs.values()].map(([label, input]) => field(label, input)),
        field('Epoch', epoch, 'each draws anew')),
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
      'details', {}, h('summary', {}, 'Samples, and what augmentation makes of them'), element, image,
      h('p', {className: 'quiet'}, 'What a data layer says for this:'), text);
}

function shown(one) {
  const report = one.made?.report;
  return h(
      'section', {className: 'panel'},
      h('div', {className: 'title'}, h('h3', {}, one.path),
        h('a', {className: 'button', href: '#/new?' + new URLSearchParams({data: one.path})}, 'Train with it')),
      one.made ? h('p', {className: 'quiet'}, `made of ${one.made.source}`) : null, classes(one),
      report ? h('details', {}, h('summary', {}, 'Report of the conversion'),
                 h('pre', {}, JSON.stringify(report, null, 2))) :
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
      h('h1', {}, 'Datasets'), h('h2', {}, 'In this folder'), list, h('h2', {}, 'Make one of a folder of images'),
      maker(refresh));
  await refresh();
}
