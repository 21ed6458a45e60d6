// One run: its live curves and log, and its controls.
import {follow, get, post, showMessage} from '/js/api.js';
import {ago, duration, field, form, h, heads, number, size, state} from '/js/dom.js';
import {Metrics} from '/js/metrics.js';

const kMaxLog = 200000;

function facts(one) {
  const rows = [
    ['iteration', one.max_iter > 0 ? `${one.iter} of ${one.max_iter}` : one.iter],
    ['loss', number(one.loss)],
    one.score ? ['best ' + one.score.name, `${number(one.score.value)} at iteration ${one.score.iter}`] : null,
    ['images per second', number(Math.round(one.images_per_second))],
    ['time', duration(one.seconds)],
    ['started', ago(one.created)],
    ['solver', one.solver],
    one.problem ? ['problem', one.problem] : null,
  ];
  return rows.filter(Boolean).flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, String(value))]);
}

/** The buttons, and the form that changes settings. `act` executes an action. */
function controls(path, act) {
  const stop = h('button', {type: 'button', onclick: () => act('stop', {}, 'stopped with a snapshot')}, 'Stop');
  const snapshot =
      h('button', {type: 'button', onclick: () => act('snapshot', {}, 'the snapshot was requested')}, 'Snapshot');
  const resume = h('button', {type: 'button', onclick: () => act('resume', {}, 'resumed')}, 'Resume');
  const rate = h('input', {type: 'number', min: 0, step: 'any', placeholder: 'unchanged'});
  const most = h('input', {type: 'number', min: 1, step: 1, placeholder: 'unchanged'});
  const other = h('input', {placeholder: 'solver.momentum=0.95', spellcheck: false});
  const change = form(
      h('div', {className: 'fields'}, field('base_lr', rate), field('max_iter', most),
        field('Another setting', other, 'a field of the solver or of a net')),
      'Apply and resume', async () => {
        const set = [];
        if (rate.value) set.push('solver.base_lr=' + rate.value);
        if (most.value) set.push('solver.max_iter=' + most.value);
        if (other.value.trim()) set.push(other.value.trim());
        if (set.length === 0) throw new Error('no changes: fill in one of the fields');
        await post('/api/run/resume', {path, set});
        showMessage('resumed with ' + set.join(', '));
      });
  const all = h('div', {className: 'row'}, stop, snapshot, resume);
  return {
    all,
    change:
        h('details', {className: 'panel'}, h('summary', {}, 'Change settings and resume'),
          h('p', {className: 'quiet'}, 'A running training stops with a snapshot and resumes from it.'), change),
    update(one) {
      const runs = one.state === 'running';
      stop.disabled = snapshot.disabled = !runs;
      resume.disabled = runs || (one.state === 'finished' && one.iter >= one.max_iter);
    },
  };
}

function snapshots(path, list) {
  if (list.length === 0) return [h('p', {className: 'quiet'}, 'None yet.')];
  const rows = list.slice(0, 20).map(
      (one) =>
          h('tr', {},
            h('td', {}, h('a', {href: '#/try?' + new URLSearchParams({run: path, snapshot: one.name})}, one.name)),
            h('td', {className: 'number'}, size(one.bytes)), h('td', {}, ago(one.changed))));
  return [h(
      'div', {className: 'wide'},
      h('table', {}, heads('Snapshot', ['Size', 'number'], 'Written'), h('tbody', {}, rows)))];
}

/** Charts, which appear with their first values. */
function charts(metrics, places) {
  const made = {};
  return () => {
    const show = (key, title, yLabel, series, options = {}) => {
      if (!series.some((one) => one.points.length > 0)) return;
      if (made[key])
        made[key].update(series);
      else
        made[key] = Charts.line(places[key], {title, xLabel: 'iteration', yLabel, series, ...options});
    };
    show('loss', 'Loss', 'loss', metrics.losses());
    show('score', 'Test scores', 'score', metrics.scores());
    show('rate', 'Learning rate', 'rate', metrics.rates());
  };
}

export async function run(place, parameters) {
  const path = parameters.get('path') || '', first = await get('/api/run', {path});
  const name = h('span'), about = h('dl', {className: 'facts'}), kept = h('div');
  const places = {loss: h('div'), score: h('div'), rate: h('div')};
  const log =
      h('pre', {className: 'log', tabIndex: 0, role: 'log', 'aria-label': 'Log of the training', 'aria-live': 'off'});
  const act = async (what, body, done) => {
    try {
      showMessage('…');
      await post('/api/run/' + what, {path, ...body});
      showMessage(done);
    } catch (error) {
      showMessage(error.message);
    }
  };
  const buttons = controls(path, act), metrics = new Metrics(), draw = charts(metrics, places);
  const showState = (one) => {
    name.replaceChildren(state(one.state));
    about.replaceChildren(...facts(one));
    buttons.update(one);
  };
  const showKept = async () => kept.replaceChildren(...snapshots(path, (await get('/api/run', {path})).snapshots));
  showState(first);
  kept.append(...snapshots(path, first.snapshots));
  place.append(
      h('div', {className: 'title'}, h('h1', {}, path, ' ', name), buttons.all),
      h('div', {className: 'columns'}, about, buttons.change),
      h('div', {className: 'columns'}, places.loss, places.score), h('h2', {}, 'Snapshots'), kept, h('h2', {}, 'Log'),
      log,
      h('details', {}, h('summary', {}, 'More'), places.rate,
        h('p', {},
          h('a', {href: '/api/run/report?' + new URLSearchParams({path}), target: '_blank', rel: 'noopener'},
            'Report of this run')),
        h('p', {}, 'Files: ',
          first.files.flatMap((file) => [h('a', {href: '#/nets?' + new URLSearchParams({path: file})}, file), ' '])),
        h('pre', {}, first.command.join(' '))));
  await metrics.read(path);  // existing rows
  draw();
  const source = follow('/api/run/feed', {path, metrics: metrics.next}, {
    metrics: ({text, next}) => {
      metrics.add(text, next);
      draw();
      if (text.includes('"snapshot"')) showKept();
    },
    log: ({text}) => {
      const isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
      log.textContent = (log.textContent + text).slice(-kMaxLog);
      if (isAtEnd) log.scrollTop = log.scrollHeight;
    },
    state: showState,
  });
  source.onopen = () => {
    log.textContent = '';
  };  // after a reconnect the end of the log is sent again
  return () => source.close();
}
