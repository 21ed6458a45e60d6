// Choosers: a folder in the studio's folder, and one of several values.
import {get} from '/js/api.js';
import {h} from '/js/dom.js';
import {entries as count, icon, isImage} from '/js/icons.js';

/** The path as links or buttons from the studio's folder on. `part(text, path)` makes one. */
export function crumbs(path, part) {
  const names = path ? path.split('/') : [];
  const parts =
      ['', ...names].map((name, i) => h('li', {}, part(name || 'Studio folder', names.slice(0, i).join('/'))));
  parts[parts.length - 1].setAttribute('aria-current', 'location');
  return h('ol', {className: 'crumbs'}, parts);
}

/** The arrow keys move between the elements that `selector` finds. */
export function arrowKeys(list, selector) {
  list.addEventListener('keydown', (event) => {
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (!step || event.target.matches('input')) return;
    const all = [...list.querySelectorAll(selector)];
    const row = all.indexOf(event.target.closest('tr, li')?.querySelector(selector));
    const next = all[Math.min(Math.max(row + step, 0), all.length - 1)];
    event.preventDefault();
    next?.focus();
  });
}

/** Returns {element, value(), open(path)}: the path of the open folder, '' for the studio's own. */
export function folderChooser(label, onChange) {
  let path = '';
  const here = h('div'), inside = h('output', {className: 'quiet note'}), list = h('ul', {className: 'chooser'});
  const step = (text, to) => h('button', {type: 'button', className: 'plain', onclick: () => open(to)}, text);
  const entry = (one) =>
      h('li', {},
        h('button', {type: 'button', onclick: () => open((path ? path + '/' : '') + one.name)}, icon(one),
          h('span', {className: 'name'}, one.name), h('span', {className: 'quiet note'}, count(one))));
  async function open(to) {
    const {entries} = await get('/api/folder', {path: to});
    path = to;
    const folders = entries.filter((one) => one.folder), images = entries.filter((one) => isImage(one.name)).length;
    here.replaceChildren(crumbs(path, step));
    inside.textContent =
        `${path || 'the studio’s folder'}: ${folders.length} ${folders.length === 1 ? 'folder' : 'folders'}` +
        (images ? `, ${images} images` : '');
    list.replaceChildren(...folders.map(entry));
    list.hidden = folders.length === 0;
    if (onChange) onChange(path);
  }
  arrowKeys(list, 'button');
  const element =
      h('div', {className: 'field', role: 'group', 'aria-label': label}, h('span', {}, label), here, list, inside);
  return {element, value: () => path, open};
}

/** A select of these texts; `first` is the label of an empty first option. */
export function select(values, chosen, first) {
  const options = values.map((one) => {
    const [value, text] = Array.isArray(one) ? one : [one, one];
    return h('option', {value, selected: value === chosen}, text);
  });
  return h('select', {}, first ? h('option', {value: ''}, first) : null, options);
}
