// Nets and solvers: choose, edit, check, draw and save.
import {get, post, showMessage} from '/js/api.js';
import {select} from '/js/chooser.js';
import {confirmed} from '/js/dialog.js';
import {check, field, form, h} from '/js/dom.js';
import {draftOf, drafts, dropDraft, keepDraft} from '/js/drafts.js';
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
    hide() {
      element.hidden = true;
    },
  };
}

/** Saves the text. A file that exists, or was changed since it was opened, is replaced only after a question. */
async function saved(path, text, digest) {
  try {
    return await post('/api/text', {path, text, digest});
  } catch (error) {
    if (error.status !== 409) throw error;
    const question = `${error.message}. Replace it with your text?`;
    if (!await confirmed(`Replace ${path}?`, question, 'Replace it', 'danger')) throw new Error('It was not saved.');
    return await post('/api/text', {path, text, digest: (await get('/api/text', {path})).digest});
  }
}

/** The opened text: its name, the content and digest of its file; `note` shows whether it has unsaved changes. */
class Document {
  constructor() {
    this.path = this.text = this.digest = '';
    this.note = h('p', {className: 'row note', role: 'status'});
  }

  open(path, text, digest) {
    Object.assign(this, {path, text, digest});
  }

  /** Keeps the text as a draft, or drops the draft if it is the file's. */
  changed(text, discard) {
    if (text === this.text || (!this.path && !text)) {
      dropDraft(this.path);
      this.note.replaceChildren();
      return;
    }
    const kept = keepDraft(this.path, text, this.digest);
    if (this.note.childElementCount > 0 && kept) return;
    this.note.replaceChildren(
        h('span', {className: 'warn'}, kept ? 'Unsaved changes. They are kept in this tab.' : 'Unsaved changes.'),
        h('button', {type: 'button', className: 'plain', onclick: discard}, 'Discard them'));
  }
}

/** Links to texts with unsaved changes. */
function unsaved() {
  const open = drafts().filter(Boolean);
  if (open.length === 0) return null;
  const links = open.map((path) => h('a', {href: '#/nets?' + new URLSearchParams({path})}, path));
  return h('p', {className: 'panel row'}, 'Unsaved changes: ', links);
}

export async function nets(place, parameters) {
  const [texts, models] = await Promise.all([get('/api/texts'), get('/api/models')]);
  const wanted = parameters.get('path') || '', here = new Document();
  const picture = graph(), train = h('p', {hidden: true}),
        path = h('input', {required: true, spellcheck: false, value: wanted, placeholder: 'nets/mine.prototxt'});
  const edited = editor('Text of the net or solver', (report) => {
    train.hidden = report.kind !== 'solver' || report.mistakes.length > 0;
    if (report.kind !== 'net')
      picture.hide();
    else if (report.mistakes.length === 0)
      picture.draw(edited.text());  // otherwise keeps the graph of the last valid text
  }, () => changed(), () => here.path);
  const set = (text) => {
    edited.set(text);
    changed();
  };
  const changed = () => here.changed(edited.text(), () => set(here.text));
  const files = select(texts.map((one) => one.path), wanted, 'choose a file'),
        known = select(models, '', 'choose a model');
  const open = async (name) => {
    const file = await get('/api/text', {path: name}), draft = draftOf(name);
    path.value = name;
    here.open(name, file.text, draft?.digest || file.digest);
    set(draft?.text ?? file.text);
  };
  const wrong = (error) => showMessage(error.message);
  files.onchange = () => {
    if (files.value) open(files.value).catch(wrong);
  };
  known.onchange = async () => {
    if (!known.value) return;
    try {
      const {text} = await get('/api/model', {name: known.value});
      path.value = `nets/${known.value}.prototxt`;
      here.open('', '', '');
      set(text);
    } catch (error) {
      wrong(error);
    }
  };
  const save = form(field('Save as', path), 'Save', async () => {
    const text = edited.text(), {digest} = await saved(path.value, text, path.value === here.path ? here.digest : '');
    dropDraft(here.path);
    here.open(path.value, text, digest);
    changed();
    showMessage(path.value + ' was saved');
    train.replaceChildren(h('a', {href: '#/new?' + new URLSearchParams({solver: path.value})}, 'Train with it'));
  });
  save.classList.add('save');
  place.append(
      h('h1', {}, 'Nets'), ...[wanted ? null : unsaved()].filter(Boolean),
      h('div', {className: 'fields'}, field('In this folder', files, 'nets and solvers'),
        field('From models/', known, 'as a start')),
      h('div', {className: 'columns'}, h('section', {}, h('h2', {}, 'Text'), save, here.note, train, edited.element),
        picture.element));
  if (wanted) await open(wanted);
  return () => {
    if (edited.text() !== here.text)
      showMessage(`The unsaved changes of ${here.path || 'the new net'} are kept in this tab.`);
  };
}
