// A text editor with underlined diagnostics. The marks are in a transparent copy of the text under the textarea.
import {post} from '/js/api.js';
import {h} from '/js/dom.js';

const kPause = 350;  // ms without a key press until the text is checked

/** The [begin, end) offsets of the word at a diagnostic's place. */
function span(text, one) {
  const lines = text.split('\n');
  if (!one.line || one.line > lines.length) return null;
  const begin = lines.slice(0, one.line - 1).reduce((sum, line) => sum + line.length + 1, 0);
  const line = lines[one.line - 1], column = Math.min(Math.max((one.column || 1) - 1, 0), line.length);
  const word = /^("[^"]*"?|[\w.+-]+|\S)/.exec(line.slice(column));
  return word ? [begin + column, begin + column + word[0].length] : [begin, begin + Math.max(1, line.length)];
}

function marked(text, found) {
  const spans = found.map((one) => [...(span(text, one) || [0, 0]), one.warning])
                    .filter(([a, b]) => b > a)
                    .sort((a, b) => a[0] - b[0]);
  const parts = [];
  let at = 0;
  for (const [begin, end, warning] of spans) {
    if (begin < at) continue;
    parts.push(text.slice(at, begin), h('mark', {className: warning ? 'warning' : ''}, text.slice(begin, end)));
    at = end;
  }
  parts.push(text.slice(at) + '\n ');  // keeps the height of the last line
  return parts;
}

/** Returns {element, text(), set(text)}; calls `onChecked(report)` after each check. */
export function editor(label, onChecked) {
  const area =
      h('textarea', {spellcheck: false, autocapitalize: 'off', autocomplete: 'off', wrap: 'off', 'aria-label': label});
  const marks = h('pre', {'aria-hidden': 'true'});
  const summary = h('p', {role: 'status'}), list = h('ul', {className: 'diagnostics'});
  let timer = null, turn = 0;

  const go = (one) => {
    const place = span(area.value, one);
    if (!place) return;
    area.focus();
    area.setSelectionRange(...place);
    const height = parseFloat(getComputedStyle(area).lineHeight);
    area.scrollTop = Math.max(0, (one.line - 4) * height);
  };
  const item = (one) =>
      h('li', {},
        h('button', {type: 'button', onclick: () => go(one)},
          one.line ? h('strong', {}, `${one.line}:${one.column} `) : null,
          h('span', {className: one.warning ? 'warn' : 'bad'}, one.warning ? 'warning: ' : ''), one.message,
          one.hint ? h('span', {className: 'quiet'}, ` – ${one.hint}`) : null));

  function show(report) {
    const here = (one) => !one.file;
    const found = [...report.mistakes.filter(here), ...report.warnings.map((one) => ({...one, warning: true}))];
    marks.replaceChildren(...marked(area.value, found));
    const all = [...report.mistakes, ...report.warnings.map((one) => ({...one, warning: true}))];
    list.replaceChildren(...all.map(item));
    const count = report.mistakes.length;
    summary.textContent = count ? `${count} ${count === 1 ? 'error' : 'errors'}` :
                                  `no errors: ${report.kind}, ${report.layers} layers` +
            (report.params ? `, ${report.params.toLocaleString('en')} parameters` : '');
    summary.className = count ? 'bad' : 'good';
  }

  async function check() {
    const mine = ++turn;
    if (!area.value.trim()) {
      marks.replaceChildren();
      list.replaceChildren();
      summary.textContent = '';
      return;
    }
    try {
      const report = await post('/api/check', {text: area.value});
      if (mine !== turn) return;
      show(report);
      onChecked?.(report);
    } catch (error) {
      if (mine === turn) summary.textContent = error.message;
    }
  }

  const changed = () => {
    marks.replaceChildren(area.value + '\n ');
    clearTimeout(timer);
    timer = setTimeout(check, kPause);
  };
  const follow = () => {
    marks.scrollTop = area.scrollTop;
    marks.scrollLeft = area.scrollLeft;
  };
  area.oninput = changed;
  area.onscroll = follow;
  return {
    element: h('div', {}, h('div', {className: 'editor'}, marks, area), summary, list),
    text: () => area.value,
    set(text) {
      area.value = text;
      area.scrollTop = 0;
      changed();
    },
  };
}
