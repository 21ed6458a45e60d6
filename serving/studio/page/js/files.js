// Files and folders of the studio: upload, rename, delete to the bin, restore.
import {get, post, send, showMessage} from '/js/api.js';
import {arrowKeys, crumbs} from '/js/chooser.js';
import {ask, askText, confirmed} from '/js/dialog.js';
import {ago, h, heads, size} from '/js/dom.js';
import {entries as count, icon, isShown} from '/js/icons.js';
import {scrolling} from '/js/tables.js';

const kAtOnce = 3, kMaxRows = 200, kMaxListed = 20;

const address = (path) => '#/files?' + new URLSearchParams({path});
const below = (folder, name) => (folder ? folder + '/' : '') + name;
const parent = (path) => path.split('/').slice(0, -1).join('/');

/** The page that shows an entry best. */
function target(path, one) {
  if (one.folder) return one.kind === 'run' ? '#/run?' + new URLSearchParams({path}) : address(path);
  return path.endsWith('.prototxt') ? '#/nets?' + new URLSearchParams({path}) : '';
}

/** Asks for a new name. Resolves to the new path, or '' if nothing was renamed. */
export async function renameWithQuestion(path) {
  const name = await askText(`Rename ${path}`, 'New name', path.split('/').pop(), 'Rename');
  if (!name) return '';
  const renamed = await post('/api/rename', {path, name});
  showMessage(`${path} is now ${renamed.path}`);
  return renamed.path;
}

/** Moves them to the bin, after a question. Resolves to whether it was done. */
export async function deleteWithQuestion(paths) {
  const what = paths.length === 1 ? paths[0] : `${paths.length} items`;
  if (!await confirmed(
          `Delete ${what}?`,
          'It is moved to the bin, from which it can be restored. It keeps its disk space until it is deleted there.',
          'Delete', 'danger'))
    return false;
  for (const path of paths) await post('/api/delete', {path});
  showMessage(`${what} moved to the bin`);
  return true;
}

/** The files of a drop, with their paths, also those in dropped folders. */
async function dropped(transfer) {
  const found = [];
  const take = async (entry, path) => {
    if (entry.isFile) {
      found.push([path + entry.name, await new Promise((resolve, reject) => entry.file(resolve, reject))]);
      return;
    }
    const reader = entry.createReader(),
          read = () => new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    for (let some = await read(); some.length > 0; some = await read())
      for (const one of some) await take(one, `${path}${entry.name}/`);
  };
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  for (const entry of entries) await take(entry, '');
  return found;
}

/** Uploads [path, file] pairs, one file in a request, and shows the progress in `place`. */
async function upload(folder, files, place, refresh) {
  let next = 0, done = 0, stopped = false;
  const problems = [], visible = files.filter(([path]) => !path.split('/').some((part) => part.startsWith('.')));
  const text = h('span', {role: 'status'}),
        progress = h('progress', {max: visible.length || 1, value: 0, 'aria-label': 'Files uploaded'});
  const stop =
      h('button', {
        type: 'button',
        className: 'plain',
        onclick: () => {
          stopped = true;
        }
      },
        'Stop');
  place.replaceChildren(h('div', {className: 'panel job'}, h('div', {className: 'row'}, text, stop), progress));
  const work = async () => {
    while (next < visible.length && !stopped) {
      const [path, file] = visible[next++];
      try {
        await send('/api/upload', {path: below(folder, path)}, file);
        ++done;
      } catch (error) {
        problems.push(error.message);
      }
      progress.value = done + problems.length;
      text.textContent = `Uploading: ${done + problems.length} of ${visible.length} files`;
    }
  };
  await Promise.all(Array.from({length: kAtOnce}, work));
  stop.remove();
  progress.remove();
  text.textContent = `Uploaded: ${done} of ${visible.length}` + (stopped ? ', then stopped' : '');
  if (problems.length > 0) {
    const more = problems.length - kMaxListed;
    place.firstChild.append(
        h('details', {open: true}, h('summary', {}, `Left out: ${problems.length}`),
          h('ul', {}, problems.slice(0, kMaxListed).map((one) => h('li', {}, one)),
            more > 0 ? h('li', {}, `and ${more} more`) : null)));
  }
  await refresh();
}

/** The controls that upload to `folder`, with the place for their progress. */
function uploader(folder, refresh) {
  const place = h('div');
  const input = (label, properties, pathOf) => {
    const file = h('input', {type: 'file', multiple: true, className: 'unseen', ...properties});
    file.onchange = async () => {
      await upload(folder, [...file.files].map((one) => [pathOf(one), one]), place, refresh);
      file.value = '';
    };
    return h('label', {className: 'button'}, label, file);
  };
  const drop = h('div', {className: 'drop'}, 'Drop images or folders of images here.');
  drop.ondragover = (event) => {
    event.preventDefault();
    drop.classList.add('over');
  };
  drop.ondragleave = () => drop.classList.remove('over');
  drop.ondrop = async (event) => {
    event.preventDefault();
    drop.classList.remove('over');
    await upload(folder, await dropped(event.dataTransfer), place, refresh);
  };
  return {
    buttons: [
      input('Upload files', {}, (one) => one.name),
      input('Upload a folder', {webkitdirectory: true}, (one) => one.webkitRelativePath)
    ],
    drop,
    place,
  };
}

/** Shows an image in a dialog. */
const showImage = (path) => ask(
    path, h('img', {className: 'shown', src: '/api/image?' + new URLSearchParams({path}), alt: path}), [['', 'Close']]);

/** The name of an entry, which leads to its page or shows the image. */
function nameOf(one, path) {
  const to = target(path, one);
  if (to) return h('a', {href: to, className: 'name'}, one.name);
  if (isShown(one.name))
    return h('button', {type: 'button', className: 'plain name', onclick: () => showImage(path)}, one.name);
  return h('span', {className: 'name', tabIndex: -1}, one.name);
}

function row(folder, one, act) {
  const path = below(folder, one.name);
  const button = (label, kind, run) =>
      h('button', {type: 'button', className: 'plain ' + kind, 'aria-label': `${label} ${one.name}`, onclick: run},
        label);
  return h(
      'tr', {'data-path': path},
      h('td', {},
        h('div', {className: 'entry'}, icon(one), nameOf(one, path),
          one.folder && one.kind !== 'folder' ? h('span', {className: 'quiet note'}, one.kind) : null)),
      h('td', {className: 'number'}, one.folder ? count(one) : size(one.bytes)),
      h('td', {className: 'less'}, ago(one.changed)),
      h('td', {className: 'actions'}, button('Rename', '', () => act(() => renameWithQuestion(path))),
        button('Delete', '', () => act(() => deleteWithQuestion([path])))));
}

/** What the bin contains, with buttons that restore or delete for good. */
function binRow(one, act) {
  const restore = () => act(async () => {
    await post('/api/bin/restore', {name: one.name});
    showMessage(`${one.path} was restored`);
    return true;
  });
  const remove = () => act(async () => {
    if (!await confirmed(
            `Delete ${one.path} for good?`, 'It cannot be restored afterwards.', 'Delete for good', 'danger'))
      return false;
    await post('/api/bin/delete', {name: one.name});
    return true;
  });
  const button = (label, onclick) =>
      h('button', {type: 'button', className: 'plain', 'aria-label': `${label} ${one.path}`, onclick}, label);
  return h(
      'tr', {}, h('td', {}, one.path), h('td', {className: 'less'}, ago(one.deleted)),
      h('td', {className: 'actions'}, button('Restore', restore), button('Delete for good', remove)));
}

export async function files(place, parameters) {
  const folder = parameters.get('path') || '';
  const list = h('div'), bin = h('div');
  const wrong = (error) => showMessage(error.message);
  const act = (run) => Promise.resolve().then(run).then((changed) => changed ? refresh() : null).catch(wrong);
  const loads = uploader(folder, () => refresh());
  const make = h('button', {type: 'button'}, 'New folder');
  make.onclick = () => act(async () => {
    const name = await askText('New folder', 'Name', '', 'Create', 'for example a class of images');
    return name && post('/api/folder', {path: below(folder, name)});
  });

  async function refresh() {
    const [{entries, odd}, deleted] = await Promise.all([get('/api/folder', {path: folder}), get('/api/bin')]);
    const body = h('tbody'), more = h('button', {type: 'button'});
    const grow = (count) => {
      body.append(...entries.slice(body.childElementCount, count).map((one) => row(folder, one, act)));
      more.hidden = body.childElementCount === entries.length;
    };
    more.textContent = `Show all ${entries.length} entries`;
    more.onclick = () => grow(entries.length);
    grow(kMaxRows);
    list.replaceChildren(
        entries.length > 0 ?
            scrolling('Entries',
              h('table', {className: 'listing'}, heads('Name', ['Content', 'number'], ['Changed', 'less'], ''), body)) :
            h('p', {className: 'panel quiet'}, 'This folder is empty.'),
        ...odd.length === 0 ? [] : [h('p', {className: 'quiet'},
            `Not shown, because the studio opens only files and folders of its own: ${
                odd.map(({name, kind}) => `${name} (${kind})`).join(', ')}`)],
        more);
    arrowKeys(body, '.name');
    bin.replaceChildren(
        ...deleted.length === 0 ? [] : [h('details', {className: 'panel', open: bin.querySelector('details')?.open},
                                          h('summary', {}, `Bin (${deleted.length})`),
                                          scrolling('Deleted',
                                            h('table', {className: 'listing'}, heads('Deleted', ['When', 'less'], ''),
                                              h('tbody', {}, deleted.map((one) => binRow(one, act))))))]);
  }

  list.onkeydown = (event) => {
    const path = event.target.closest?.('tr')?.dataset.path;
    if (event.key === 'Backspace' && folder) location.hash = address(parent(folder));
    if (event.key === 'F2' && path) act(() => renameWithQuestion(path));
    if (event.key === 'Delete' && path) act(() => deleteWithQuestion([path]));
  };
  place.append(
      h('div', {className: 'title'}, h('h1', {}, 'Files'), h('div', {className: 'row'}, make, loads.buttons)),
      h('nav', {'aria-label': 'Folder'}, crumbs(folder, (text, to) => h('a', {href: address(to)}, text))), loads.drop,
      loads.place, list, bin);
  await refresh();
}
