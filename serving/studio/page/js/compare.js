// Comparison of runs: their curves in one chart, and the differences between the first two.
import {get} from '/js/api.js';
import {h} from '/js/dom.js';
import {Metrics} from '/js/metrics.js';

const named = (one, path) => ({...one, name: `${path}: ${one.name}`});

export async function compare(place, parameters) {
  const paths = parameters.getAll('path').slice(0, 8), all = [];
  for (const path of paths) {
    const metrics = new Metrics();
    await metrics.read(path);
    all.push({path, metrics});
  }
  const loss = h('div'), scores = h('div');
  place.append(h('h1', {}, 'Compare runs'), h('div', {className: 'columns'}, loss, scores));
  const series = (pick) => all.flatMap(({path, metrics}) => pick(metrics).map((one) => named(one, path)));
  const show = (element, title, yLabel, curves) => {
    if (curves.some((one) => one.points.length > 0))
      Charts.line(element, {title, xLabel: 'iteration', yLabel, series: curves});
  };
  show(loss, 'Loss', 'loss', series((one) => one.losses()));
  show(scores, 'Test scores', 'score', series((one) => one.scores()));
  if (paths.length < 2) return;
  const {text} = await get('/api/runs/compare', {a: paths[0], b: paths[1]});
  place.append(h('h2', {}, `Differences between ${paths[0]} and ${paths[1]}`), h('pre', {}, text));
}
