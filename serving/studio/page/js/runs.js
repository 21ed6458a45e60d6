// The list of runs, with live curves.
import {follow} from '/js/api.js';
import {ago, h, heads, number, spark, state} from '/js/dom.js';

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
  const box = h('input', {type: 'checkbox', checked: chosen.has(one.path), 'aria-label': `compare ${one.path}`});
  box.onchange = () => {
    if (box.checked)
      chosen.add(one.path);
    else
      chosen.delete(one.path);
    onChange();
  };
  return h(
      'tr', {}, h('td', {className: 'less'}, box),
      h('td', {}, link(one), h('div', {className: 'quiet'}, ago(one.created))), h('td', {}, state(one.state)),
      h('td', {}, progress(one)), h('td', {className: 'number less'}, number(one.loss)),
      h('td', {className: 'number'},
        one.score ? [h('div', {}, number(one.score.value)), h('div', {className: 'quiet'}, one.score.name)] : '–'),
      h('td', {className: 'less'}, spark(one.curve)));
}

export async function runs(place) {
  const body = h('tbody'),
        table =
            h('div', {className: 'wide', hidden: true},
              h('table', {},
                heads(
                    ['Compare', 'less'], 'Run', 'State', ['Iteration', 'number'], ['Loss', 'number less'],
                    ['Best score', 'number'], ['Loss so far', 'less']),
                body));
  const none =
      h('div', {className: 'panel', hidden: true},
        h('p', {}, 'This folder has no runs yet. Three steps to the first one:'),
        h('ol', {}, h('li', {}, h('a', {href: '#/datasets'}, 'create a dataset'), ' from a folder of images;'),
          h('li', {}, h('a', {href: '#/new'}, 'start a training'), ' on it;'),
          h('li', {}, h('a', {href: '#/try'}, 'try images'), ' with the trained net.')));
  const side = h('a', {className: 'button', hidden: true}, 'Compare');
  place.append(
      h('div', {className: 'title'}, h('h1', {}, 'Runs'),
        h('div', {className: 'row'}, side, h('a', {className: 'button first', href: '#/new'}, 'New training'))),
      none, table);
  const chosen = new Set();
  const showChosen = () => {
    side.hidden = chosen.size < 2;
    side.href = '#/compare?' + new URLSearchParams([...chosen].map((path) => ['path', path]));
  };
  const source = follow('/api/runs/feed', {}, {
    runs: (list) => {
      none.hidden = list.length > 0;
      table.hidden = list.length === 0;
      const focused = document.activeElement?.getAttribute?.('href');
      body.replaceChildren(...list.map((one) => row(one, chosen, showChosen)));
      if (focused?.startsWith('#/run?')) body.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
    },
  });
  return () => source.close();
}
