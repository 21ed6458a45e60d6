// The state of a run: its progress, key figures and problem, and the next steps after its end.
import {ago, duration, figures, h, number, scoreName, span} from '/js/dom.js';

const whole = (value) => Math.round(value).toLocaleString('en-US');

/** "epoch 3 of 10 · iteration 450 of 1,500 · about 2 min left" */
function progressText(one, left) {
  const parts = [];
  if (one.max_epoch > 0 && one.max_iter > 0)
    parts.push(`epoch ${Math.min(one.max_epoch, Math.floor(one.iter * one.max_epoch / one.max_iter) + 1)} of ${
        one.max_epoch}`);
  parts.push('iteration ' + whole(one.iter) + (one.max_iter > 0 ? ' of ' + whole(one.max_iter) : ''));
  if (one.state === 'running' && left !== null) parts.push(`about ${span(left)} left`);
  return parts.join(' · ');
}

function keyFigures(one) {
  return figures([
    one.score ?
        [`Best ${scoreName(one.score.name)}`, number(one.score.value), `at iteration ${whole(one.score.iter)}`] :
        ['Best score', '–', 'not tested yet'],
    ['Loss', number(one.loss), 'of training'],
    ['Images per second', one.images_per_second ? whole(one.images_per_second) : '–'],
    ['Time', duration(one.seconds), `started ${ago(one.created)}`],
  ]);
}

/** The state of the training: progress, time left, score, loss, speed. */
export class Overview {
  constructor(path) {
    this.bar = h('progress', {'aria-label': 'iterations of ' + path});
    this.text = h('p', {className: 'number progress-text'});
    this.figures = h('div');
    this.problem = h('p', {className: 'error', hidden: true});
    this.element = h('section', {className: 'panel', 'aria-label': 'State'}, this.bar, this.text, this.figures);
  }

  show(one, left) {
    this.bar.max = Math.max(1, one.max_iter);
    this.bar.value = one.iter;
    this.bar.hidden = one.max_iter <= 0;
    this.text.textContent = progressText(one, left);
    this.figures.replaceChildren(keyFigures(one));
    this.problem.textContent = one.problem;
    this.problem.hidden = !one.problem;
  }
}

export const reportLink = (path, kind, text) =>
    h('a', {
      className: 'button ' + kind,
      href: '/api/run/report?' + new URLSearchParams({path}),
      target: '_blank',
      rel: 'noopener'
    },
      text);

export const tryLink = (path, snapshot, kind, text) =>
    h('a', {className: 'button ' + kind, href: '#/try?' + new URLSearchParams({run: path, snapshot})}, text);

/** What to do after the end of a training; empty before. */
export function nextSteps(path, one) {
  if (!['finished', 'stopped_early'].includes(one.state)) return [];
  const best = one.snapshots.find((snapshot) => snapshot.best) || one.snapshots[0];
  const result = one.score ? `The best ${scoreName(one.score.name)} on the test set is ${number(one.score.value)}.` :
                             'It was not tested.';
  return [h(
      'section', {className: 'panel next', 'aria-label': 'What is next'},
      h('div', {}, h('h2', {}, 'The training is finished'), h('p', {}, result)),
      h('div', {className: 'row'},
        best ? tryLink(path, best.name, 'first', best.best ? 'Try the best weights' : 'Try the weights') : null,
        reportLink(path, '', 'Read the report')))];
}
