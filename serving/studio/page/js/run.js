// One run: its live curves and log, and its controls.
import {follow, get, post, showMessage} from '/js/api.js';
import {ago, field, form, h, heads, size, state} from '/js/dom.js';
import {Metrics} from '/js/metrics.js';
import {nextSteps, Overview, reportLink, tryLink} from '/js/overview.js';
import {scrolling} from '/js/tables.js';

const kMaxLog = 200000;

/** The buttons, and the form that changes settings. */
function controls(path, first) {
  const length = first.max_epoch > 0 ? 'max_epoch' : 'max_iter';  // a solver has one of them
  const button = (text, what, done) => h('button', {type: 'button', onclick: () => act(path, what, done)}, text);
  const stop = button('Stop', 'stop', 'stopped with a snapshot');
  const snapshot = button('Snapshot', 'snapshot', 'the snapshot was requested');
  const resume = button('Resume', 'resume', 'resumed');
  resume.className = 'first';
  const rate = h('input', {type: 'number', min: 0, step: 'any', placeholder: 'unchanged'});
  const most = h('input', {type: 'number', min: 1, step: 1, placeholder: 'unchanged: ' + first[length]});
  const other = h('input', {placeholder: 'solver.momentum=0.95', spellcheck: false});
  const change = form(
      h('div', {className: 'fields'}, field('base_lr', rate), field(length, most),
        field('Another setting', other, 'a field of the solver or of a net')),
      'Apply and resume', async () => {
        const set = [];
        if (rate.value) set.push('solver.base_lr=' + rate.value);
        if (most.value) set.push(`solver.${length}=${most.value}`);
        if (other.value.trim()) set.push(other.value.trim());
        if (set.length === 0) throw new Error('no changes: fill in one of the fields');
        await post('/api/run/resume', {path, set});
        showMessage('resumed with ' + set.join(', '));
      });
  return {
    all: [reportLink(path, '', 'Report'), snapshot, stop, resume],
    change:
        h('details', {className: 'panel'}, h('summary', {}, 'Change settings and resume'),
          h('p', {className: 'quiet'}, 'A running training stops with a snapshot and resumes from it.'), change),
    update(one) {
      const runs = one.state === 'running';
      stop.hidden = snapshot.hidden = !runs;
      resume.hidden = runs || (one.state === 'finished' && one.iter >= one.max_iter);
    },
  };
}

function snapshots(path, list) {
  if (list.length === 0) return [h('p', {className: 'quiet'}, 'None yet.')];
  const badge = h('span', {className: 'state good'}, 'best');
  const rows = list.slice(0, 20).map(
      (one) =>
          h('tr', {}, h('td', {}, one.name, ' ', one.best ? badge : null),
            h('td', {className: 'number'}, size(one.bytes)), h('td', {className: 'less'}, ago(one.changed)),
            h('td', {className: 'number'}, tryLink(path, one.name, 'plain', 'Try'))));
  return [scrolling(
      'Snapshots', h('table', {}, heads('Weights', ['Size', 'number'], ['Written', 'less'], ['Use', 'number']),
        h('tbody', {}, rows)))];
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

/** Rarely needed: learning rate, solver, files, command. */
function details(path, one, rate) {
  const link = (file) => h('a', {href: '#/nets?' + new URLSearchParams({path: file})}, file.slice(path.length + 1));
  return h(
      'details', {className: 'panel'}, h('summary', {}, 'Learning rate, files and command'), rate,
      h('dl', {className: 'facts'}, h('dt', {}, 'solver'), h('dd', {}, one.solver), h('dt', {}, 'files'),
        h('dd', {className: 'row'}, one.files.map(link))),
      h('pre', {tabIndex: 0, 'aria-label': 'Command'}, one.command.join(' ')));
}

/** The log, which stays at its end while new lines arrive unless the user has scrolled up. */
class Log {
  constructor() {
    this.element =
        h('pre', {className: 'log', tabIndex: 0, role: 'log', 'aria-label': 'Log of the training', 'aria-live': 'off'});
  }

  add(text) {
    const {element} = this, isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < 40;
    element.textContent = (element.textContent + text).slice(-kMaxLog);
    if (isAtEnd) element.scrollTop = element.scrollHeight;
  }

  clear() { this.element.textContent = ''; }
}

const act = async (path, what, done) => {
  try {
    showMessage('…');
    await post('/api/run/' + what, {path});
    showMessage(done);
  } catch (error) {
    showMessage(error.message);
  }
};

export async function run(place, parameters) {
  const path = parameters.get('path') || '';
  let one = await get('/api/run', {path});
  const name = h('span'), kept = h('div'), next = h('div'), overview = new Overview(path), log = new Log();
  const places = {loss: h('div'), score: h('div'), rate: h('div')}, metrics = new Metrics(one.lowest);
  const draw = charts(metrics, places), buttons = controls(path, one);
  const show = () => {
    name.replaceChildren(state(one.state));
    overview.show(one, metrics.timeLeft(one.max_iter));
    next.replaceChildren(...nextSteps(path, one));
    buttons.update(one);
  };
  const reload = async () => {  // after a snapshot, or a change of the state
    one = await get('/api/run', {path});
    kept.replaceChildren(...snapshots(path, one.snapshots));
    show();
  };
  place.append(
      h('div', {className: 'title'}, h('h1', {}, path, ' ', name), h('div', {className: 'row'}, buttons.all)),
      overview.problem, overview.element, next, h('div', {className: 'columns'}, places.loss, places.score),
      h('h2', {}, 'Snapshots'), kept, h('h2', {}, 'Log'), log.element,
      h('div', {className: 'columns'}, buttons.change, details(path, one, places.rate)));
  kept.append(...snapshots(path, one.snapshots));
  await metrics.read(path);  // existing rows
  draw();
  show();
  const source = follow('/api/run/feed', {path, metrics: metrics.next}, {
    metrics: ({text, next}) => {
      metrics.add(text, next);
      draw();
      show();
      if (text.includes('"snapshot"')) reload();
    },
    log: ({text}) => log.add(text),
    state: (now) => {
      const isOther = now.state !== one.state;
      one = {...one, ...now};
      show();
      if (isOther) reload();
    },
  });
  source.onopen = () => log.clear();  // after a reconnect the end of the log is sent again
  return () => source.close();
}
