// Parts of pages: fields, forms, states, formatted numbers and times.
import {h} from '/elements.js';

export {h};

/** A label with its control and an optional explanation. */
export function field(name, control, meaning) {
  return h('label', {className: 'field'}, h('span', {}, name), control, meaning ? h('small', {}, meaning) : null);
}

export function check(name, input) { return h('label', {className: 'check'}, input, name); }

/** An input for the name of a new dataset, training or run. Browsers show the title with names that do not match. */
export function nameInput(placeholder = '') {
  return h('input', {
    required: true,
    pattern: '[A-Za-z0-9_][A-Za-z0-9_.\\-]{0,63}',  // as checked_name() of the studio
    title: 'At most 64 letters from A to Z, digits, “_”, “-” and “.”; no blanks, and no “-” or “.” at the beginning',
    spellcheck: false,
    autocomplete: 'off',
    placeholder
  });
}

/** A form that calls `send()`; its button is disabled meanwhile, and errors are shown below. */
export function form(fields, label, send) {
  const button = h('button', {className: 'first', type: 'submit'}, label);
  const mistake = h('p', {className: 'error', role: 'alert', hidden: true});
  const element = h('form', {}, fields, h('div', {className: 'row'}, button), mistake);
  element.onsubmit = async (event) => {
    event.preventDefault();
    button.disabled = true;
    mistake.hidden = true;
    try {
      await send();
    } catch (error) {
      mistake.textContent = error.message;
      mistake.hidden = false;
    }
    button.disabled = false;
  };
  return element;
}

const kStates = {
  running: ['running', 'good'],
  finished: ['finished', 'good'],
  stopped: ['stopped', 'quiet'],
  stopped_early: ['stopped early', 'good'],
  diverged: ['diverged', 'bad'],
  failed: ['failed', 'bad'],
  killed: ['killed', 'bad'],
  new: ['new', 'quiet'],
};

export function state(name) {
  const [text, kind] = kStates[name] || [name, 'quiet'];
  return h('span', {className: 'state ' + kind}, text);
}

export const number = (value) => value === null || value === undefined ? '–' : Charts.parts.number(value);

export function size(bytes) {
  const units = ['bytes', 'KiB', 'MiB', 'GiB'];
  const i = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  return `${(bytes / 1024 ** i).toFixed(i === 0 ? 0 : 1)} ${units[i]}`;
}

export function ago(seconds) {
  const past = Math.max(0, Date.now() / 1000 - seconds);
  if (past < 90) return `${Math.round(past)} s ago`;
  if (past < 5400) return `${Math.round(past / 60)} min ago`;
  return past < 129600 ? `${Math.round(past / 3600)} h ago` : new Date(seconds * 1000).toLocaleDateString();
}

export function duration(seconds) {
  const whole = Math.round(seconds), pad = (n) => String(n).padStart(2, '0');
  return `${Math.floor(whole / 3600)}:${pad(Math.floor(whole / 60) % 60)}:${pad(whole % 60)}`;
}

/** A time span in words: "40 s", "12 min", "3 h 20 min". */
export function span(seconds) {
  const minutes = Math.round(seconds / 60), hours = Math.floor(minutes / 60);
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  if (minutes < 90) return `${minutes} min`;
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.round(hours / 24)} days`;
}

export const scoreName = Charts.parts.scoreName;

/** Key figures: [name, value, note]. */
export function figures(list) {
  const one = ([name, value, note]) =>
      h('div', {}, h('dt', {}, name), h('dd', {}, value, note ? h('small', {}, note) : null));
  return h('dl', {className: 'figures'}, list.map(one));
}

/** The header row of a table; cells are texts or [text, class]. */
export function heads(...columns) {
  const cells = columns.map((one) => Array.isArray(one) ? one : [one, '']);
  return h('thead', {}, h('tr', {}, cells.map(([text, kind]) => h('th', {scope: 'col', className: kind}, text))));
}

/** A sparkline: a curve without axes. */
export function spark(points) {
  const kWide = 128, kHigh = 32, {svg} = Charts.parts;
  if (points.length < 2) return '';
  const xs = points.map((p) => p[0]), ys = points.map((p) => p[1]);
  const [x0, x1, y0, y1] = [xs[0], xs[xs.length - 1], Math.min(...ys), Math.max(...ys)];
  const at = ([x, y]) => `${(((x - x0) / (x1 - x0 || 1)) * (kWide - 4) + 2).toFixed(1)} ` +
      `${((1 - (y - y0) / (y1 - y0 || 1)) * (kHigh - 4) + 2).toFixed(1)}`;
  return svg(
      'svg', {class: 'spark', viewBox: `0 0 ${kWide} ${kHigh}`, 'aria-hidden': 'true'},
      svg('path', {d: 'M' + points.map(at).join('L')}));
}
