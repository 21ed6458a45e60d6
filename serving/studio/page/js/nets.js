// Nets and solvers: choose, edit, check, draw and save.
import {get, post, showMessage} from '/js/api.js';
import {select} from '/js/chooser.js';
import {check, field, form, h} from '/js/dom.js';
import {editor} from '/js/editor.js';

/** The graph of a net: {element, draw(text)}. */
function graph() {
  const image = h('img', {alt: 'the net as a graph of layers', hidden: true}),
        mistake = h('p', {className: 'error', hidden: true, role: 'alert'});
  const phase = select(['TRAIN', 'TEST'], 'TRAIN'), full = h('input', {type: 'checkbox'});
  let address = '', last = '', turn = 0;
  async function draw(text) {
    const mine = ++turn;
    last = text;
    try {
      const {svg} = await post('/api/draw', {text, phase: phase.value, full: full.checked});
      if (mine !== turn) return;
      if (address) URL.revokeObjectURL(address);
      image.src = address = URL.createObjectURL(new Blob([svg], {type: 'image/svg+xml'}));
      image.hidden = false;
      mistake.hidden = true;
    } catch (error) {
      mistake.textContent = error.message;
      mistake.hidden = false;
    }
  }
  phase.onchange = full.onchange = () => draw(last);
  phase.setAttribute('aria-label', 'Phase');
  const element =
      h('section', {hidden: true}, h('h2', {}, 'Graph'),
        h('div', {className: 'row'}, phase, check('every layer separately', full)), mistake,
        h('div', {className: 'graph', tabIndex: 0, role: 'group', 'aria-label': 'Graph of the net'}, image));
  return {
    element,
    draw(text) {
      element.hidden = false;
      draw(text);
    },
    hide() { element.hidden = true; },
  };
}

export async function nets(place, parameters) {
  const [texts, models] = await Promise.all([get('/api/texts'), get('/api/models')]);
  const wanted = parameters.get('path') || '';
  const picture = graph(), train = h('p', {hidden: true}),
        path = h('input', {required: true, spellcheck: false, value: wanted, placeholder: 'nets/mine.prototxt'});
  const edited = editor('Text of the net or solver', (report) => {
    train.hidden = report.kind !== 'solver' || report.mistakes.length > 0;
    if (report.kind !== 'net')
      picture.hide();
    else if (report.mistakes.length === 0)
      picture.draw(edited.text());  // otherwise keeps the graph of the last valid text
  });
  const files = select(texts.map((one) => one.path), wanted, 'choose a file'),
        known = select(models, '', 'choose a model');
  const open = async (name) => {
    edited.set((await get('/api/text', {path: name})).text);
    path.value = name;
  };
  const wrong = (error) => showMessage(error.message);
  files.onchange = () => {
    if (files.value) open(files.value).catch(wrong);
  };
  known.onchange = async () => {
    if (!known.value) return;
    try {
      edited.set((await get('/api/model', {name: known.value})).text);
      path.value = `nets/${known.value}.prototxt`;
    } catch (error) {
      wrong(error);
    }
  };
  const save = form(field('Save as', path, 'in the studio’s folder'), 'Save', async () => {
    await post('/api/text', {path: path.value, text: edited.text()});
    showMessage(path.value + ' was saved');
    train.replaceChildren(h('a', {href: '#/new?' + new URLSearchParams({solver: path.value})}, 'Train with it'));
  });
  place.append(
      h('h1', {}, 'Nets'),
      h('div', {className: 'fields'}, field('In this folder', files, 'nets and solvers'),
        field('From models/', known, 'as a start')),
      h('div', {className: 'columns'}, h('section', {}, h('h2', {}, 'Text'), edited.element, save, train),
        picture.element));
  if (wanted) await open(wanted);
}
