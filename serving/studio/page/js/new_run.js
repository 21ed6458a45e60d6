// A new training. On a dataset it takes two steps: the studio prepares net and solver and shows its choices; then the
// user starts the training, or goes back, which discards the files. Or a training with an existing solver.
import {get, post, showMessage} from '/js/api.js';
import {select} from '/js/chooser.js';
import {field, figures, form, h, heads, nameInput, span} from '/js/dom.js';
import {scrolling} from '/js/tables.js';

const owner = crypto.randomUUID();  // of what this tab prepares: another tab does not discard it

const show = (path) => {
  location.hash = '#/run?' + new URLSearchParams({path});
};

/** The choices of `cortado new`, with reasons. */
function choices(list) {
  const rows = list.map(
      (one) =>
          h('tr', {}, h('td', {}, one.what), h('td', {}, one.value),
            h('td', {}, one.why === '--from' ? 'your choice' : one.why)));
  return scrolling('Choices', h('table', {}, heads('Choice', 'Value', 'Why'), h('tbody', {}, rows)));
}

/** A name that no run and no training has: that of the dataset, with a number if it is taken. */
function freeName(data, taken) {
  const base = data.split('/').pop().replace(/[^A-Za-z0-9_.\-]/g, '_').replace(/^[.\-]+/, '').slice(0, 60) || 'training';
  for (let i = 1;; ++i) {
    const name = i === 1 ? base : `${base}_${i}`;
    if (!taken.has(name)) return name;
  }
}

/** Step 2: what was prepared. `start` starts the training, `back` returns to step 1. */
function prepared(project, name, start, back) {
  const chosen = (what) => project.choices.find((one) => one.what === what)?.value;
  const time = project.seconds === null ? 'unknown' : span(project.seconds);
  const actions = form(h('p', {}, project.data), 'Start training', start),
        change = h('button', {type: 'button', onclick: back}, 'Change');
  const edit = h('button', {type: 'button', className: 'plain'}, 'Edit the files first');
  edit.onclick = async () => {
    await post('/api/training/keep', {path: project.path, owner});
    location.hash = '#/nets?' + new URLSearchParams({path: project.net});
  };
  actions.querySelector('.row').append(change, edit);
  return h(
      'section', {}, h('h2', {tabIndex: -1}, `Step 2 of 2: check and start “${name}”`),
      h('div', {className: 'panel'}, figures([
          [
            'Estimated time', time,
            project.seconds === null ? 'the net is too large for a short trial' : 'on this machine, without tests'
          ],
          ['Net', chosen('net') || '–'], ['Epochs', chosen('max_epoch') || '–'],
          ['Images in an update', chosen('batch_size') || '–']
        ]),
        project.hint ? h('p', {className: 'note'}, project.hint) : null, actions),
      h('h3', {}, 'What was chosen, and why'), choices(project.choices));
}

/** Step 1: dataset, net and options. `prepare` receives the request. */
function questions(datasets, taken, chosen, prepare) {
  const data = select(datasets.map((one) => one.path), chosen), net = h('select');
  data.required = true;
  const name = nameInput();
  const count = (most) => h('input', {type: 'number', min: 1, max: most, placeholder: 'automatic'});
  const epochs = count(100000), batch = count(65536), size = count(4096);
  const weights = h('input', {spellcheck: false, placeholder: 'none'});
  const kind = h('p', {className: 'quiet note', role: 'status'}), side = field('Image side', size);
  let suggested = '';
  const choose = async () => {
    const found = await get('/api/starts', {data: data.value}), finds = found.kind === 'detector';
    kind.textContent = finds ? 'This dataset has boxes: the training makes a detector.' :
                               'This dataset has classes: the training makes a classifier.';
    net.replaceChildren(
        h('option', {value: ''}, finds ? 'a small SSD' : 'chosen by image size'),
        ...found.nets.filter((one) => one.trained)
            .map((one) => h('option', {value: one.name}, `${one.name}, with trained weights: for few photos`)),
        ...found.nets.filter((one) => !one.trained).map((one) => h('option', {value: one.name}, one.name)));
    side.hidden = finds;
    if (name.value === suggested) name.value = suggested = freeName(data.value, taken);
  };
  data.onchange = () => choose().catch((error) => showMessage(error.message));
  const fields = [
    h('div', {className: 'fields'}, field('Dataset', data), field('Name', name, 'of the training and its run'),
      field('Net', net, 'to start from'), field('Epochs', epochs, 'times that each image is seen')),
    kind,
    h('details', {}, h('summary', {}, 'More options'),
      h('div', {className: 'fields'}, field('Images in an update', batch), side,
        field('Weights to fine-tune', weights, 'a .caffemodel of this net in the studio’s folder'))),
  ];
  const element = form(fields, 'Prepare', async () => {
    const body = {name: name.value, data: data.value, from: net.value, weights: weights.value.trim()};
    for (const [key, input] of Object.entries({epochs, batch, size}))
      if (input.value && !input.closest('[hidden]')) body[key] = Number(input.value);
    await prepare(body);
  });
  return {element, start: choose};
}

/** Both steps. `onStep` is called with 1 or 2. `leave()` removes files that were prepared and not started. */
function ofDataset(datasets, taken, chosen, onStep) {
  const place = h('div'), working = h('p', {className: 'quiet', role: 'status'});
  let pending = null;  // the path of what is being or was prepared
  const discard = async () => {
    const path = pending;
    pending = null;
    if (path) await post('/api/training/discard', {path, owner}).catch((error) => showMessage(error.message));
  };
  const discardWithPage = () => {
    const body = new Blob([JSON.stringify({path: pending, owner})], {type: 'application/json'});
    if (pending) navigator.sendBeacon('/api/training/discard', body);
  };
  const start = async (name, {path, solver}) => {
    pending = null;  // a training that begins keeps its files, even if the page is left now
    try {
      show((await post('/api/runs', {name, solver})).path);
    } catch (error) {
      pending = path;
      throw error;
    }
  };
  const first = questions(datasets, taken, chosen, async (body) => {
    working.textContent = 'Reading the dataset, writing net and solver, and estimating the time…';
    try {
      pending = 'trainings/' + body.name;
      const project = await post('/api/trainings', {...body, owner}).catch((error) => {
        if (pending) throw error;
      });
      if (!pending) return;  // the page was left, which discards it
      const second = prepared(project, body.name, () => start(body.name, project), async () => {
        await discard();
        place.replaceChildren(one);
        onStep(1);
      });
      place.replaceChildren(second);
      onStep(2);
      second.querySelector('h2').focus();
    } catch (error) {
      pending = null;
      throw error;
    } finally {
      working.textContent = '';
    }
  });
  const one =
      h('section', {}, h('h2', {}, 'On a dataset'),
        h('div', {className: 'panel'},
          h('p', {className: 'quiet'}, 'Step 1 of 2: Cortado prepares net and solver and explains its choices.'),
          first.element, working));
  place.append(one);
  addEventListener('pagehide', discardWithPage);
  const leave = () => {
    removeEventListener('pagehide', discardWithPage);
    discard();
  };
  return {element: place, start: first.start, leave};
}

function ofSolver(solvers, chosen) {
  const solver = select(solvers, chosen), name = nameInput('second');
  solver.required = true;
  const set = h('textarea', {className: 'code', rows: 3, spellcheck: false, placeholder: 'solver.base_lr=0.01'});
  const weights = h('input', {spellcheck: false, placeholder: 'none'});
  const fields = [
    h('div', {className: 'fields'}, field('Solver', solver), field('Name', name, 'of the run'),
      field('Initial weights', weights, 'a .caffemodel in the studio’s folder')),
    field('Settings', set, 'one per line, as for --set')
  ];
  return form(fields, 'Train', async () => {
    const lines = set.value.split('\n').map((line) => line.trim()).filter(Boolean);
    show((await post('/api/runs', {name: name.value, solver: solver.value, weights: weights.value.trim(), set: lines}))
             .path);
  });
}

export async function newRun(place, parameters) {
  const [listed, texts, runs] = await Promise.all([get('/api/datasets'), get('/api/texts'), get('/api/runs')]);
  const datasets = listed.filter((one) => !one.problem);
  const solvers = texts.map((one) => one.path).filter((path) => /solver[^/]*\.prototxt$/.test(path));
  const folders = [...solvers, ...runs.map((one) => one.path + '/')];
  const taken = new Set(folders.map((path) => path.match(/^(?:runs|trainings)\/([^/]+)\//)?.[1]));
  const other =
      h('details', {className: 'panel', open: parameters.has('solver')}, h('summary', {}, 'With a solver of your own'),
        solvers.length > 0 ? ofSolver(solvers, parameters.get('solver')) :
                             h('p', {className: 'quiet'}, 'This folder has no files named *solver*.prototxt.'));
  place.append(h('h1', {}, 'New training'));
  let guide = null;
  if (datasets.length > 0) {
    guide = ofDataset(datasets, taken, parameters.get('data'), (step) => {
      other.hidden = step !== 1;
    });
    place.append(guide.element);
  } else {
    place.append(
        h('h2', {}, 'On a dataset'),
        h('div', {className: 'panel'},
          h('p', {}, 'No datasets yet: ', h('a', {href: '#/datasets'}, 'create one'), '.')));
  }
  place.append(other);
  await guide?.start();
  return guide?.leave;
}
