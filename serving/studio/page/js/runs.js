// The list of runs, with live curves.
import {follow, showMessage} from '/js/api.js';
import {select} from '/js/chooser.js';
import {ago, field, h, heads, number, spark, state} from '/js/dom.js';
import {deleteWithQuestion} from '/js/files.js';
import {scrolling} from '/js/tables.js';

const link = (one) => h('a', {href: '#/run?' + new URLSearchParams({path: one.path})}, one.path);

function progress(one) {
  const text = one.max_iter > 0 ? `${one.iter} of ${one.max_iter}` : String(one.iter);
  return [
    h('div', {className: 'number'}, text),
    one.max_iter > 0 ? h('progress', {max: one.max_iter, value: one.iter, 'aria-label': `iterations of ${one.path}`}) :
                       null
  ];
}

function row(one, chosen, onChange) {
  const box = h('input', {type: 'checkbox', checked: chosen.has(one.path), 'aria-label': `choose ${one.path}`});
  box.onchange = () => {
    if (box.checked)
      chosen.add(one.path);
    else
      chosen.delete(one.path);
    onChange();
  };
  return h(
      'tr', {}, h('td', {className: 'less'}, box),
      h('td', {}, link(one), h('div', {className: 'quiet'}, ago(one.created))), h('td', {}, state(one.state), one.state === 'unreadable' ? h('div', {className: 'quiet'}, one.problem) : null),
      h('td', {}, progress(one)), h('td', {className: 'number less'}, number(one.loss)),
      h('td', {className: 'number'},
        one.score ? [h('div', {}, number(one.score.value)), h('div', {className: 'quiet'}, one.score.name)] : '–'),
      h('td', {className: 'less'}, spark(one.curve)));
}

const scoreOf = (one) => one.score ? (one.score.best === 'lowest' ? -one.score.value : one.score.value) : -Infinity;

/** The orders of the list: [label, comparison]. The studio sends the newest first. */
const kOrders = {
  newest: ['newest first', () => 0],
  score: ['best score first', (a, b) => scoreOf(b) - scoreOf(a)],
  name: ['by name', (a, b) => a.path.localeCompare(b.path, 'en', {numeric: true})],
};

/** Fields that filter and sort the list: {element, apply(list)}; `onChange()` is called at each change. */
function sieve(onChange) {
  const words = h('input', {type: 'search', spellcheck: false, placeholder: 'part of a name or state'});
  const order = select(Object.entries(kOrders).map(([key, [label]]) => [key, label]), 'newest');
  words.oninput = order.onchange = onChange;
  const has = (one) => `${one.path} ${one.state}`.toLowerCase().includes(words.value.trim().toLowerCase());
  return {
    element: h('div', {className: 'fields sieve', hidden: true}, field('Filter', words),
                field('Sort', order, 'Choose runs in the first column to compare or delete them.')),
    apply: (list) => list.filter(has).sort(kOrders[order.value][1]),
  };
}

export async function runs(place) {
  const body = h('tbody'),
        table =
            scrolling('Runs',
              h('table', {},
                heads(
                    ['', 'less'], 'Run', 'State', ['Iteration', 'number'], ['Loss', 'number less'],
                    ['Best score', 'number'], ['Loss so far', 'less']),
                body));
  table.hidden = true;
  const none =
      h('div', {className: 'panel', hidden: true},
        h('p', {}, 'This folder has no runs yet. Three steps to the first one:'),
        h('ol', {}, h('li', {}, h('a', {href: '#/datasets'}, 'create a dataset'), ' from a folder of images;'),
          h('li', {}, h('a', {href: '#/new'}, 'start a training'), ' on it;'),
          h('li', {}, h('a', {href: '#/try'}, 'try images'), ' with the trained net.')));
  const side = h('a', {className: 'button', hidden: true}, 'Compare'),
        remove = h('button', {type: 'button', hidden: true}, 'Delete');
  const nothing = h('p', {className: 'panel quiet', hidden: true}, 'No run matches the filter.');
  const choice = sieve(() => show());
  place.append(
      h('div', {className: 'title'}, h('h1', {}, 'Runs'),
        h('div', {className: 'row'}, remove, side, h('a', {className: 'button first', href: '#/new'}, 'New training'))),
      choice.element, none, nothing, table);
  const chosen = new Set();
  let all = [];
  const showChosen = () => {
    side.hidden = chosen.size < 2;
    side.textContent = `Compare ${chosen.size}`;
    remove.hidden = chosen.size === 0;
    remove.textContent = `Delete ${chosen.size}`;
    side.href = '#/compare?' + new URLSearchParams([...chosen].map((path) => ['path', path]));
  };
  remove.onclick = async () => {
    try {
      if (await deleteWithQuestion([...chosen])) chosen.clear();
    } catch (error) {
      showMessage(error.message);
    }
    showChosen();
  };
  const show = () => {
    const list = choice.apply(all);
    none.hidden = all.length > 0;
    choice.element.hidden = all.length < 2;
    table.hidden = list.length === 0;
    nothing.hidden = list.length > 0 || all.length === 0;
    const focused = document.activeElement?.getAttribute?.('href');
    body.replaceChildren(...list.map((one) => row(one, chosen, showChosen)));
    if (focused?.startsWith('#/run?')) body.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
  };
  const source = follow('/api/runs/feed', {}, {
    runs: (list) => {
      all = list;
      for (const path of chosen)
        if (!list.some((one) => one.path === path)) chosen.delete(path);
      showChosen();
      show();
    },
  });
  return () => source.close();
}
