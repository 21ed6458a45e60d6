// Comparison of runs: scores and differing settings in a table, curves of up to eight of them, differences of nets.
import {get, post, showMessage} from '/js/api.js';
import {select} from '/js/chooser.js';
import {duration, field, h, number, state} from '/js/dom.js';
import {Metrics} from '/js/metrics.js';
import {scrolling} from '/js/tables.js';

const kMaxCurves = 8;

const address = (paths) => '#/compare?' + new URLSearchParams(paths.map((path) => ['path', path]));

/** The mark of a curve's colour. */
function mark(colour) {
  const {svg} = Charts.parts;
  return svg(
      'svg', {class: 'mark', viewBox: '0 0 20 8', 'aria-hidden': 'true'},
      svg('line', {class: 'curve series-' + colour, x1: 0, x2: 20, y1: 4, y2: 4}));
}

/** The runs with curves. Each keeps its colour while it is shown. */
class Colours {
  constructor(paths) {
    this.slots = Array(kMaxCurves).fill('');
    for (const path of paths.slice(0, kMaxCurves)) this.add(path);
  }
  of(path) {
    return this.slots.indexOf(path);
  }
  get full() {
    return !this.slots.includes('');
  }
  add(path) {
    this.slots[this.slots.indexOf('')] = path;
  }
  remove(path) {
    this.slots[this.of(path)] = '';
  }
}

const scoreOf = (run, name) => run.scores.find((one) => one.name === name);

const isLow = (runs, name) => runs.some((run) => scoreOf(run, name)?.best === 'lowest');

/** The names of all scores, those that are better the higher they are first. */
function scoreNames(runs) {
  const names = [...new Set(runs.flatMap((one) => one.scores.map((score) => score.name)))];
  return names.sort((a, b) => isLow(runs, a) - isLow(runs, b));
}

/** The best value of a score. */
function best(runs, name) {
  const values = runs.map((one) => scoreOf(one, name)?.value).filter((value) => Number.isFinite(value));
  return isLow(runs, name) ? Math.min(...values) : Math.max(...values);
}

/** The settings that differ. */
function differing(runs) {
  const names = [...new Set(runs.flatMap((one) => Object.keys(one.settings)))];
  return names.filter((name) => new Set(runs.map((one) => one.settings[name] ?? '')).size > 1);
}

/** The table: runs in rows; scores, then settings that differ. */
function table(runs, colours, onChange) {
  const scores = scoreNames(runs), settings = differing(runs),
        top = new Map(scores.map((name) => [name, best(runs, name)]));
  const score = (run, name) => {
    const found = scoreOf(run, name);
    if (!found) return h('td', {className: 'number'}, '–');
    const isBest = runs.length > 1 && found.value === top.get(name);
    return h(
        'td', {className: 'number', title: `at iteration ${found.iter}`},
        isBest ? h('strong', {}, number(found.value)) : number(found.value));
  };
  const row = (run) => {
    const colour = colours.of(run.path);
    const box = h('input', {
      type: 'checkbox',
      checked: colour >= 0,
      disabled: colour < 0 && colours.full,
      'aria-label': `curves of ${run.path}`
    });
    box.onchange = () => {
      if (box.checked)
        colours.add(run.path);
      else
        colours.remove(run.path);
      onChange();
    };
    const others = runs.map((one) => one.path).filter((path) => path !== run.path);
    return h(
        'tr', {}, h('td', {}, h('div', {className: 'entry'}, box, colour >= 0 ? mark(colour) : null)),
        h('th', {scope: 'row'}, h('a', {href: '#/run?' + new URLSearchParams({path: run.path})}, run.path)),
        h('td', {}, state(run.state)), scores.map((name) => score(run, name)),
        h('td', {className: 'number'}, duration(run.seconds)),
        settings.map((name) => h('td', {}, run.settings[name] ?? '–')),
        h('td', {className: 'actions'},
          runs.length > 1 ?
              h('a', {className: 'button plain', href: address(others), 'aria-label': `Leave out ${run.path}`},
                'Leave out') :
              null));
  };
  const head = (text, kind = '') => h('th', {scope: 'col', className: kind}, text);
  return scrolling(
      'Compared runs',
      h('table', {className: 'compared'},
        h('thead', {},
          h('tr', {}, head('Curves'), head('Run'), head('State'), scores.map((name) => head('best ' + name, 'number')),
            head('Time', 'number'), settings.map((name) => head(name)), h('td', {}))),
        h('tbody', {}, runs.map(row))));
}

/** Charts with a curve for each shown run: the training loss, and each score of the test nets. */
function charts(place, shown, colours) {
  const titles = new Map([['training loss', ['Training loss', 'loss']]]), curves = new Map();
  for (const [path, metrics] of shown) {
    for (const one of [...metrics.losses(), ...metrics.scores()]) {
      if (one.points.length === 0) continue;
      if (!titles.has(one.name)) titles.set(one.name, [one.name.replace(/^t/, 'T'), one.name.replace('test ', '')]);
      curves.set(
          one.name, [...(curves.get(one.name) || []), {name: path, points: one.points, colour: colours.of(path)}]);
    }
  }
  place.replaceChildren(...[...titles].filter(([name]) => curves.has(name)).map(([name, [title, yLabel]]) => {
    const element = h('div');
    Charts.line(element, {title, xLabel: 'iteration', yLabel, series: curves.get(name)});
    return element;
  }));
}

/** How nets differ from the first run's, folded. */
function nets(runs) {
  const kinds = {'+': 'good', '-': 'bad'};
  return runs.filter((one) => one.net.length > 0)
      .map(
          (one) =>
              h('details', {className: 'panel'},
                h('summary', {}, `Net of ${one.path}: ${one.net.length} lines differ from ${runs[0].path}`),
                h('pre', {}, one.net.map((line) => h('span', {className: kinds[line[0]] || ''}, line + '\n')))));
}

/** A field that adds another run of the folder. */
function adder(all, paths) {
  const others = all.map((one) => one.path).filter((path) => !paths.includes(path));
  if (others.length === 0) return null;
  const more = select(others, '', 'choose a run');
  more.onchange = () => {
    if (more.value) location.hash = address([...paths, more.value]);
  };
  return h('div', {className: 'fields'}, field('Add a run', more));
}

export async function compare(place, parameters) {
  const paths = [...new Set(parameters.getAll('path'))], all = await get('/api/runs');
  place.append(h('h1', {}, 'Compare runs'));
  if (paths.length === 0) {
    place.append(...[h('p', {}, 'Choose runs to compare.'), adder(all, paths)].filter(Boolean));
    return;
  }
  const runs = await post('/api/runs/compare', {paths}), colours = new Colours(paths), metrics = new Map();
  const rows = h('div'), drawn = h('div', {className: 'columns'});
  async function show() {
    rows.replaceChildren(table(runs, colours, () => show().catch((error) => showMessage(error.message))));
    const shown = paths.filter((path) => colours.of(path) >= 0);
    for (const path of shown) {
      if (metrics.has(path)) continue;
      metrics.set(path, new Metrics(runs.find((one) => one.path === path).lowest));
      await metrics.get(path).read(path);
    }
    charts(drawn, shown.map((path) => [path, metrics.get(path)]), colours);
  }
  const same = paths.length > 1 && differing(runs).length === 0;
  place.append(
      rows,
      ...[same ? h('p', {className: 'quiet'}, 'These runs have the same settings.') : null,
          paths.length > kMaxCurves ? h('p', {className: 'quiet'}, `At most ${kMaxCurves} runs have curves at once.`) :
                                      null,
          adder(all, paths)]
          .filter(Boolean),
      drawn, ...nets(runs));
  await show();
}
