// A text editor with line numbers and underlined diagnostics. The marks are in a transparent copy of the text under the
// textarea. Tab indents; after Escape it moves the focus, as everywhere else.
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

/** The line of a diagnostic and a caret under its place, as `cortado check` prints them. */
function excerpt(text, one) {
  const place = span(text, one), line = text.split('\n')[one.line - 1];
  if (!place || line === undefined) return null;
  const column = Math.max((one.column || 1) - 1, 0), indent = /^\s*/.exec(line)[0].length;
  const begin = Math.min(indent, column), caret = line.slice(begin, column).replace(/[^\t]/g, ' ') + '^';
  return h('span', {className: 'excerpt'}, line.slice(begin) + '\n' + caret + '~'.repeat(place[1] - place[0] - 1));
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

/** Inserts two spaces at Tab, unless Escape was pressed before. */
function indentWithTab(area) {
  let leaves = false;
  area.addEventListener('keydown', (event) => {
    if (event.key === 'Tab' && !event.shiftKey && !leaves) {
      event.preventDefault();
      document.execCommand('insertText', false, '  ');  // can be undone
    }
    if (event.key !== 'Shift') leaves = event.key === 'Escape';
  });
  area.addEventListener('blur', () => {
    leaves = false;
  });
}

/**
 * Returns {element, text(), set(text)}; calls `onChecked(report)` after each check, and `onChange()` at each change.
 * `path()`: the file of the text, to which its paths may be relative; '' if it has none yet.
 */
export function editor(label, onChecked, onChange, path = () => '') {
  const area =
      h('textarea', {spellcheck: false, autocapitalize: 'off', autocomplete: 'off', wrap: 'off', 'aria-label': label});
  const marks = h('pre', {'aria-hidden': 'true', className: 'marks'}),
        numbers = h('pre', {'aria-hidden': 'true', className: 'numbers'});
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
          one.file ? null : excerpt(area.value, one),
          one.hint ? h('span', {className: 'quiet hint'}, `hint: ${one.hint}`) : null));

  function show(report) {
    const here = (one) => !one.file;
    const found = [...report.mistakes.filter(here), ...report.warnings.map((one) => ({...one, warning: true}))];
    marks.replaceChildren(...marked(area.value, found));
    const all = [...report.mistakes, ...report.warnings.map((one) => ({...one, warning: true}))];
    list.replaceChildren(...all.map(item));
    const count = report.mistakes.length;
    summary.textContent = count ?
        `${count} ${count === 1 ? 'error' : 'errors'}` :
        `no errors: ${report.kind}, ${report.layers} ${report.layers === 1 ? 'layer' : 'layers'}` +
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
      const report = await post('/api/check', {text: area.value, path: path()});
      if (mine !== turn) return;
      show(report);
      onChecked?.(report);
    } catch (error) {
      if (mine === turn) summary.textContent = error.message;
    }
  }

  let lines = 0;
  const number = () => {
    const now = area.value.split('\n').length;
    if (now !== lines) numbers.textContent = Array.from({length: now}, (_, i) => i + 1).join('\n') + '\n ';
    lines = now;
  };
  const changed = () => {
    number();
    marks.replaceChildren(area.value + '\n ');
    clearTimeout(timer);
    timer = setTimeout(check, kPause);
  };
  const follow = () => {
    marks.scrollTop = area.scrollTop;
    marks.scrollLeft = area.scrollLeft;
    numbers.scrollTop = area.scrollTop;
  };
  area.oninput = () => {
    changed();
    onChange?.();
  };
  indentWithTab(area);
  area.onscroll = follow;
  return {
    element:
        h('div', {}, h('div', {className: 'editor'}, numbers, h('div', {className: 'text'}, marks, area)),
          h('p', {className: 'quiet note'}, 'Tab indents. Press Escape, then Tab, to leave the text.'), summary, list),
    text: () => area.value,
    set(text) {
      area.value = text;
      area.scrollTop = 0;
      changed();
    },
  };
}
