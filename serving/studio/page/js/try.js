// Runs a snapshot on an image: classes, activations and weights of the layers.
import {get, send} from '/js/api.js';
import {select} from '/js/chooser.js';
import {field, h, number} from '/js/dom.js';

const kMaxBars = 40;

/** Pictures or values of a blob or of a layer's weights, with a histogram. */
function numbers(title, one) {
  const place = h('div'), chart = h('div'), parts = [h('h3', {}, `${title}: ${one.name}, ${one.shape.join(' × ')}`)];
  parts.push(
      h('p', {className: 'quiet'},
        `from ${number(one.least)} to ${number(one.most)}, ${number(one.mean)} on average` +
            (one.not_finite ? `; ${one.not_finite} are not finite` : '')));
  if (one.picture) {
    parts.push(h('div', {className: 'wide'}, h('img', {
                   className: 'tiles',
                   src: 'data:image/png;base64,' + one.picture.png,
                   width: one.picture.width,
                   height: one.picture.height,
                   alt: `${title} of ${one.name}: ${one.picture.shown} planes`
                 })));
    if (one.picture.shown < one.picture.planes)
      parts.push(h('p', {className: 'quiet'}, `the first ${one.picture.shown} of ${one.picture.planes} planes`));
  }
  if (one.values && one.values.length <= kMaxBars) {
    const bars = parts[parts.push(h('div')) - 1];
    Charts.bars(bars, {title: 'All values', labels: one.values.map((_, i) => String(i)), values: one.values});
  }
  place.append(...parts, chart);
  Charts.histogram(chart, {title: 'Values', xLabel: 'value', edges: one.histogram.edges, counts: one.histogram.counts});
  return place;
}

const describe = (one) => [one.name, `${one.name} (${one.type ? one.type + ', ' : ''}${one.shape.join(' × ')})`];

export async function tryOut(place, parameters) {
  const runs = await get('/api/runs'), chosen = parameters.get('run') || runs[0]?.path || '';
  if (runs.length === 0) {
    place.append(
        h('h1', {}, 'Try'),
        h('p', {}, 'There are no runs with snapshots yet: ', h('a', {href: '#/new'}, 'start one'), '.'));
    return;
  }
  const run = select(runs.map((one) => one.path), chosen), snapshot = h('select');
  const blob = h('select', {disabled: true}), layer = h('select', {disabled: true});
  const file = h('input', {type: 'file', accept: 'image/jpeg,image/png'});
  const seen = h('img', {alt: 'the input image', hidden: true}),
        mistake = h('p', {className: 'error', role: 'alert', hidden: true});
  const classes = h('div'), activations = h('div'), weights = h('div');
  let image = null, turn = 0, address = '';

  const fill = (list, all, first) => {
    const before = list.value;
    list.replaceChildren(
        h('option', {value: ''}, first),
        ...all.map(describe).map(([value, text]) => h('option', {value, selected: value === before}, text)));
    list.disabled = all.length === 0;
  };

  function show(answer) {
    fill(blob, answer.blobs, 'choose a blob');
    fill(layer, answer.filters, 'choose a layer');
    if (answer.classes) {
      const labels = answer.classes.map((one) => one.name), values = answer.classes.map((one) => one.probability);
      Charts.bars(
          classes, {title: 'Classes', labels, values, most: 1, text: (value) => (100 * value).toFixed(1) + ' %'});
    }
    activations.replaceChildren(...(answer.activations ? [numbers('Activations', answer.activations)] : []));
    weights.replaceChildren(...(answer.weights ? [numbers('Weights', answer.weights)] : []));
  }

  async function look() {
    if (!snapshot.value) return;
    const mine = ++turn;
    mistake.hidden = true;
    place.setAttribute('aria-busy', 'true');
    try {
      const wanted = {run: run.value, snapshot: snapshot.value, blob: image ? blob.value : '', layer: layer.value};
      const answer = await send('/api/look', wanted, image);
      if (mine === turn) show(answer);
    } catch (error) {
      if (mine === turn) {
        mistake.textContent = error.message;
        mistake.hidden = false;
      }
    }
    if (mine === turn) place.removeAttribute('aria-busy');
  }

  async function listSnapshots(wanted) {
    const {snapshots} = await get('/api/run', {path: run.value});
    snapshot.replaceChildren(
        ...snapshots.map((one) => h('option', {value: one.name, selected: one.name === wanted}, one.name)));
    if (snapshots.length === 0) snapshot.append(h('option', {value: ''}, 'none yet'));
    await look();
  }

  function take(content) {
    if (!content) return;
    image = content;
    if (address) URL.revokeObjectURL(address);
    seen.src = address = URL.createObjectURL(content);
    seen.hidden = false;
    look();
  }

  const drop =
      h('div', {className: 'drop'},
        h('label', {className: 'field'}, h('span', {}, 'Drop an image here, or choose one'), file), seen);
  drop.ondragover = (event) => {
    event.preventDefault();
    drop.classList.add('over');
  };
  drop.ondragleave = () => drop.classList.remove('over');
  drop.ondrop = (event) => {
    event.preventDefault();
    drop.classList.remove('over');
    take(event.dataTransfer.files[0]);
  };
  file.onchange = () => take(file.files[0]);
  run.onchange = () => listSnapshots('');
  snapshot.onchange = blob.onchange = layer.onchange = look;
  place.append(
      h('h1', {}, 'Try'), h('div', {className: 'fields'}, field('Run', run), field('Snapshot', snapshot)), mistake,
      h('div', {className: 'columns'}, drop, classes), h('h2', {}, 'Inside the net'),
      h('div', {className: 'fields'}, field('Activations of', blob, 'of a blob'),
        field('Weights of', layer, 'of a layer')),
      h('div', {className: 'columns'}, activations, weights));
  await listSnapshots(parameters.get('snapshot'));
  return () => {
    if (address) URL.revokeObjectURL(address);
  };
}
