// A new training: on a dataset, with a generated net and solver, or with an existing solver.
import {get, post, showMessage} from '/js/api.js';
import {select} from '/js/chooser.js';
import {field, form, h, heads} from '/js/dom.js';

const kName = {
  required: true,
  pattern: '[A-Za-z0-9_][A-Za-z0-9_.\\-]{0,63}',
  spellcheck: false,
  autocomplete: 'off'
};

const show = (path) => {
  location.hash = '#/run?' + new URLSearchParams({path});
};

/** The choices of `cortado new`, with reasons. */
function choices(list) {
  const rows = list.map((one) => h('tr', {}, h('td', {}, one.what), h('td', {}, one.value), h('td', {}, one.why)));
  return h('div', {className: 'wide'}, h('table', {}, heads('Chosen', 'Value', 'Why'), h('tbody', {}, rows)));
}

function ofDataset(datasets, models, chosen) {
  const data = select(datasets.map((one) => one.path), chosen), from = select(models, '', 'chosen by image size');
  data.required = true;
  const name = h('input', {...kName, placeholder: 'first'}), made = h('div');
  const epochs = h('input', {type: 'number', min: 1, max: 100000, placeholder: 'automatic'});
  const batch = h('input', {type: 'number', min: 1, max: 65536, placeholder: 'automatic'});
  const size = h('input', {type: 'number', min: 1, max: 4096, placeholder: 'automatic'});
  const weights = h('input', {spellcheck: false, placeholder: 'none'});
  const wait = h('input', {type: 'checkbox'});
  const fields = [
    h('div', {className: 'fields'}, field('Name', name, 'of the training and its run'), field('Dataset', data),
      field('Net', from), field('Epochs', epochs), field('Batch', batch), field('Image side', size),
      field('Weights to fine-tune', weights, 'a .caffemodel of this net in the studio’s folder')),
    h('label', {className: 'check'}, wait, 'Only write net and solver, to edit them before training')
  ];
  const element = form(fields, 'Train', async () => {
    const body = {name: name.value, data: data.value, from: from.value, weights: weights.value.trim()};
    for (const [key, input] of Object.entries({epochs, batch, size}))
      if (input.value) body[key] = Number(input.value);
    showMessage('reading the dataset and writing net and solver…');
    const project = await post('/api/classifier', body);
    made.replaceChildren(
        choices(project.choices),
        h('p', {}, h('a', {href: '#/nets?' + new URLSearchParams({path: project.net})}, project.net), ', ',
          h('a', {href: '#/nets?' + new URLSearchParams({path: project.solver})}, project.solver)));
    showMessage('net and solver were written');
    if (wait.checked) return;
    show((await post('/api/runs', {name: name.value, solver: project.solver})).path);
  });
  return [element, made];
}

function ofSolver(solvers, chosen) {
  const solver = select(solvers, chosen), name = h('input', {...kName, placeholder: 'second'});
  solver.required = true;
  const set = h('textarea', {className: 'code', rows: 3, spellcheck: false, placeholder: 'solver.base_lr=0.01'});
  const weights = h('input', {spellcheck: false, placeholder: 'none'});
  const fields = [
    h('div', {className: 'fields'}, field('Name', name, 'of the run'), field('Solver', solver),
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
  const [datasets, models, texts] =
      await Promise.all([get('/api/datasets'), get('/api/classifiers'), get('/api/texts')]);
  const solvers = texts.map((one) => one.path).filter((path) => /solver[^/]*\.prototxt$/.test(path));
  place.append(h('h1', {}, 'New training'), h('h2', {}, 'On a dataset'));
  if (datasets.length > 0)
    place.append(...ofDataset(datasets, models, parameters.get('data')));
  else
    place.append(h('p', {}, 'No datasets yet: ', h('a', {href: '#/datasets'}, 'create one'), '.'));
  place.append(h('h2', {}, 'With a solver'));
  if (solvers.length > 0)
    place.append(ofSolver(solvers, parameters.get('solver')));
  else
    place.append(h('p', {className: 'quiet'}, 'No files named *solver*.prototxt.'));
}
