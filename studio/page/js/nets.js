// Nets and solvers: chosen, edited, checked as they are typed, drawn, saved.
import {get, post, tell} from '/js/api.js';
import {select} from '/js/chooser.js';
import {check, field, form, h} from '/js/dom.js';
import {editor} from '/js/editor.js';

/** The picture of a net, drawn anew when it is asked for and the text is right. */
function graph(text) {
  const image = h('img', {alt: 'the net as a graph of layers', hidden: true}),
        mistake = h('p', {className: 'mistake', hidden: true, role: 'alert'});
  const phase = select(['TRAIN', 'TEST'], 'TRAIN'), full = h('input', {type: 'checkbox'});
  let address = '';
  async function draw() {
    mistake.hidden = true;
    try {
      const {svg} = await post('/api/draw', {text: text(), phase: phase.value, full: full.checked});
      if (address) URL.revokeObjectURL(address);
      image.src = address = URL.createObjectURL(new Blob([svg], {type: 'image/svg+xml'}));
      image.hidden = false;
    } catch (error) {
      mistake.textContent = error.message;
      mistake.hidden = false;
    }
  }
  phase.onchange = full.onchange = draw;
  phase.setAttribute('aria-label', 'Phase');
  const button = h('button', {type: 'button', onclick: draw}, 'Draw');
  return h(
      'section', {}, h('div', {className: 'row'}, button, phase, check('every layer by itself', full)), mistake,
      h('div', {className: 'graph', tabIndex: 0, role: 'group', 'aria-label': 'Graph of the net'}, image));
}

export async function nets(place, parameters) {
  const [texts, models] = await Promise.all([get('/api/texts'), get('/api/models')]);
  const wanted = parameters.get('path') || '';
  const edited = editor('Text of the net or solver'),
        path = h('input', {required: true, spellcheck: false, value: wanted, placeholder: 'nets/mine.prototxt'});
  const files = select(texts.map((one) => one.path), wanted, 'choose a file'),
        known = select(models, '', 'choose a model');
  const open = async (name) => {
    edited.set((await get('/api/text', {path: name})).text);
    path.value = name;
  };
  const wrong = (error) => tell(error.message);
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
  const save = form(field('Save as', path, 'below the studio’s folder'), 'Save', async () => {
    await post('/api/text', {path: path.value, text: edited.text()});
    tell(path.value + ' is saved');
  });
  place.append(
      h('h1', {}, 'Nets'),
      h('div', {className: 'fields'}, field('In this folder', files, 'nets and solvers'),
        field('Of models/', known, 'to begin with')),
      h('div', {className: 'columns'}, h('section', {}, h('h2', {}, 'Text'), edited.element, save),
        h('section', {}, h('h2', {}, 'Graph'), graph(() => edited.text()))));
  if (wanted) await open(wanted);
}
