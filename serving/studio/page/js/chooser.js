// A chooser for a folder in the studio's folder.
import {get} from '/js/api.js';
import {h} from '/js/dom.js';

const kImage = /\.(jpe?g|png|p[gpn]m|bmp|webp)$/i;

/** Returns {element, value()}: the path of the open folder, '' for the studio's own. */
export function folderChooser(label, onChange) {
  let path = '';
  const here = h('output', {}), list = h('ul', {className: 'chooser'});
  const entry = (text, to) => h('li', {}, h('button', {type: 'button', onclick: () => open(to)}, text));
  async function open(to) {
    const {entries} = await get('/api/folder', {path: to});
    path = to;
    const folders = entries.filter((one) => one.folder), images = entries.filter((one) => kImage.test(one.name)).length;
    here.textContent = (path || 'the studio’s folder') + (images ? `, with ${images} images` : '');
    list.replaceChildren(
        ...(path ? [entry('↑ up', path.split('/').slice(0, -1).join('/'))] : []),
        ...folders.map((one) => entry(one.name + '/', (path ? path + '/' : '') + one.name)));
    if (onChange) onChange(path);
  }
  const element =
      h('div', {className: 'field', role: 'group', 'aria-label': label}, h('span', {}, label, ': ', here), list);
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
