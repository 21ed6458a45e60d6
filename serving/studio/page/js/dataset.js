// One dataset: its classes, sample images, duplicates and damaged records, and augmentation.
import {get, post, showMessage} from '/js/api.js';
import {augmentation} from '/js/augmentation.js';
import {h, heads, size} from '/js/dom.js';
import {deleteWithQuestion, renameWithQuestion} from '/js/files.js';
import {finished} from '/js/jobs.js';
import {nameOf, Pictures} from '/js/pictures.js';
import {scrolling} from '/js/tables.js';
import {percent} from '/images.js';

const kMaxRead = 2 * 2 ** 30;  // larger datasets are read only on request
const kMaxBars = 40, kClassesAtOnce = 10;

const address = (path) => '#/dataset?' + new URLSearchParams({path});
const many = (count, one, more) => `${count.toLocaleString('en')} ${count === 1 ? one : more}`;

function sizes(sets) {
  const low = (name) => Math.min(...sets.map((one) => one[name][0])),
        high = (name) => Math.max(...sets.map((one) => one[name][1]));
  const range = (name) => low(name) === high(name) ? String(low(name)) : `${low(name)} to ${high(name)}`;
  return `${range('width')} × ${range('height')}`;
}

const total = (sets, name) => sets.reduce((sum, one) => sum + one[name], 0);

/** A key figure: name, value, an explanation and a class. */
const figure = ([name, value, note, kind]) =>
    h('div', {}, h('dt', {}, name),
      h('dd', {}, h('span', {className: kind || ''}, value), note ? h('small', {}, note) : null));

function figures(sets, labels) {
  const count = (name) => sets.find((one) => one.set === name)?.records ?? 0;
  const leaks = total(sets, 'leaks'), doubles = total(sets, 'doubles') - leaks, damaged = total(sets, 'undecodable');
  const channels = Math.max(...sets.map((one) => one.channels));
  return h('dl', {className: 'figures panel'}, [
    ['Training images', count('train').toLocaleString('en'), size(sets[0].bytes)],
    ['Test images', count('test').toLocaleString('en'), percent(count('test') / Math.max(1, total(sets, 'records')))],
    ['Classes', String(labels.length || sets[0].per_label.length)],
    ['Width × height', sizes(sets),
     `${
         channels === 1     ? 'gray' :
             channels === 3 ? 'colour' :
                              channels + ' channels'}`],
    ['Duplicates', String(doubles), 'the same image twice in a set', doubles > 0 ? 'warn' : 'good'],
    ['In both sets', String(leaks), 'test images that are in training', leaks > 0 ? 'bad' : 'good'],
    ['Damaged', String(damaged), 'records that cannot be read', damaged > 0 ? 'bad' : 'good'],
  ].map(figure));
}

const className = (one) => one.name ?? String(one.label);
const countOf = (one) => one ? one.records ?? one.objects : 0;

function classes(sets) {
  const train = sets[0].per_label, test = sets.find((one) => one.set === 'test')?.per_label || [];
  const all = train.reduce((sum, one) => sum + countOf(one), 0) || 1, chart = h('div');
  const most = train.slice(0, kMaxBars), what = sets[0].per_label[0]?.objects !== undefined ? 'objects' : 'images';
  Charts.bars(chart, {
    title: `Training ${what} of each class` + (train.length > kMaxBars ? `, the first ${kMaxBars} classes` : ''),
    labels: most.map(className),
    values: most.map(countOf)
  });
  const rows = train.map(
      (one) =>
          h('tr', {}, h('td', {}, className(one)), h('td', {className: 'number'}, String(countOf(one))),
            h('td', {className: 'number'}, String(countOf(test.find((other) => other.label === one.label)))),
            h('td', {className: 'number'}, percent(countOf(one) / all))));
  return h(
      'section', {}, h('h2', {}, 'Classes'),
      h('div', {className: 'columns'}, chart,
        scrolling(
            'Classes',
            h('table', {}, heads('Class', ['Training', 'number'], ['Test', 'number'], ['Share', 'number']),
              h('tbody', {}, rows)),
            'tall')));
}

/** Some images of each class, ten classes at a time. */
function samples(sets, pictures) {
  const list = h('div', {className: 'panel'}), labels = sets[0].per_label.filter((one) => one.samples?.length > 0);
  const more = h('button', {type: 'button'});
  let shown = 0;
  const show = async () => {
    for (const one of labels.slice(shown, shown + kClassesAtOnce)) {
      const images = one.samples.map((key) => pictures.image('train', key, `${className(one)}: ${nameOf(key)}`));
      list.append(
          h('div', {className: 'samples'}, h('h3', {}, className(one)), h('div', {className: 'thumbnails'}, images)));
    }
    shown = Math.min(shown + kClassesAtOnce, labels.length);
    more.textContent = `Show more of ${labels.length} classes`;
    more.hidden = shown === labels.length;
    await pictures.load();
  };
  more.onclick = () => show().catch((error) => showMessage(error.message));
  return {element: h('section', {}, h('h2', {}, 'Samples'), list, more), show};
}

/** Pairs of equal images, as pictures and names. */
function pairs(title, list, kind, pictures) {
  const cell = (set, key) =>
      h('td', {},
        h('div', {className: 'entry'}, pictures.image(set, key, nameOf(key)),
          h('span', {}, nameOf(key),
            h('div', {className: 'quiet note'}, set === 'train' ? 'training set' : 'test set'))));
  const rows = list.map(
      (one) =>
          h('tr', {}, cell(one.set, one.key), cell(one.first_set, one.first),
            h('td', {},
              one.label === one.first_label ? 'the same class' :
                                              h('span', {className: 'bad'}, 'another class: one is wrong'))));
  return h(
      'div', {}, h('h3', {className: kind}, title),
      scrolling(title, h('table', {className: 'pairs'}, heads('Image', 'Equal image', 'Class'), h('tbody', {}, rows))));
}

function problems(sets, made, pictures) {
  const all = sets.flatMap((one) => one.told_doubles.map((double) => ({...double, set: one.set})));
  const leaks = all.filter((one) => one.set !== one.first_set),
        doubles = all.filter((one) => one.set === one.first_set);
  const title = (listed, count, text) =>
      text + (listed.length < count ? `, the first ${listed.length} of ${count}` : '');
  const leakCount = total(sets, 'leaks'), doubleCount = total(sets, 'doubles') - leakCount;
  const parts = [];
  if (leaks.length > 0)
    parts.push(pairs(
        title(leaks, leakCount, 'Test images that are in training, too: scores are too good'), leaks, 'bad', pictures));
  if (doubles.length > 0)
    parts.push(pairs(title(doubles, doubleCount, 'Images that occur twice in a set'), doubles, 'warn', pictures));
  const damaged = sets.flatMap((one) => one.broken.map((record) => [nameOf(record.key), record.reason]));
  const left = (made?.report?.rejects || []).map((one) => [inside(one.file, made.source), one.reason]);
  const table = (text, rows) =>
      h('div', {}, h('h3', {className: 'bad'}, text),
        scrolling(
            text,
            h('table', {}, heads('Image', 'Reason'),
              h('tbody', {}, rows.map((row) => h('tr', {}, row.map((cell) => h('td', {}, cell))))))));
  if (damaged.length > 0) parts.push(table('Records that cannot be read', damaged));
  if (left.length > 0) parts.push(table(title(left, made.report.rejected, 'Files that were left out'), left));
  const black = total(sets, 'near_black');
  if (black > 0)
    parts.push(
        h('p', {},
          `Nearly black: ${many(black, 'image', 'images')}, for example ${
              sets.flatMap((one) => one.told_near_black).slice(0, 5).map(nameOf).join(', ')}`));
  if (parts.length === 0)
    parts.push(h('p', {className: 'good'}, 'No duplicates, no damaged images, and no test image is in training.'));
  return h('section', {}, h('h2', {}, 'Problems'), h('div', {className: 'panel'}, parts));
}

/** The path of a file of the source folder, without what is above. */
const inside = (file, source) => file.slice(Math.max(0, file.lastIndexOf(`/${source}/`) + 1));

/** Where the dataset comes from. */
function origin(one) {
  if (!one.made) return null;
  const {report} = one.made, folders = report?.folders || {};
  const notes = [
    report?.skipped > 0 ? `${many(report.skipped, 'hidden file was', 'hidden files were')} skipped` : null,
    folders.empty?.count > 0 ?
        `${many(folders.empty.count, 'folder has', 'folders have')} no images: ${folders.empty.first.join(', ')}` :
        null,
    folders.loose?.count > 0 ? `${many(folders.loose.count, 'file', 'files')} outside of the class folders: ${
                                   folders.loose.first.join(', ')}` :
                               null,
    folders.nested?.count > 0 ? `${many(folders.nested.count, 'subfolder', 'subfolders')} of class folders included` :
                                null,
  ].filter(Boolean);
  return h(
      'p', {className: 'quiet'}, 'Made from ',
      h('a', {href: '#/files?' + new URLSearchParams({path: one.made.source})}, one.made.source),
      notes.length > 0 ? `. ${notes.join('. ')}.` : '.');
}

export async function dataset(place, parameters) {
  const path = parameters.get('path') || '', content = h('div'), progress = h('div');
  let gone = false, one = await get('/api/dataset', {path});
  const wrong = (error) => showMessage(error.message);
  const rename = async () => {
    const renamed = await renameWithQuestion(path);
    if (renamed) location.hash = address(renamed);
  };
  const remove = async () => {
    if (await deleteWithQuestion([path])) location.hash = '#/datasets';
  };
  const button = (label, act) =>
      h('button', {type: 'button', className: 'plain', onclick: () => act().catch(wrong)}, label);
  place.append(
      h('div', {className: 'title'}, h('h1', {}, path),
        h('div', {className: 'row'}, button('Rename', rename), button('Delete', remove),
          h('a', {className: 'button first', href: '#/new?' + new URLSearchParams({data: path})}, 'Train on it'))),
      ...[origin(one)].filter(Boolean), progress, content, augmentation(one));

  async function show() {
    const pictures = new Pictures(path), some = samples(one.report, pictures),
          found = problems(one.report, one.made, pictures);
    content.replaceChildren(figures(one.report, one.labels), classes(one.report), some.element, found);
    await some.show();
  }

  async function read() {
    content.replaceChildren();
    try {
      const {job} = await post('/api/dataset/read', {path});
      if (!await finished(job, progress, ['Reading the training images', 'Reading the test images'], () => gone))
        return;
      one = await get('/api/dataset', {path});
      if (one.report) await show();
    } catch (error) {
      const again = h('button', {type: 'button', onclick: read}, 'Read the dataset');
      content.replaceChildren(h('p', {className: 'error', role: 'alert'}, error.message), again);
    }
  }

  const bytes = one.sets.reduce((sum, set) => sum + set.bytes, 0);
  if (one.report)
    show().catch(wrong);
  else if (one.job > 0 || bytes <= kMaxRead)
    read();
  else
    content.append(
        h('p', {},
          `The dataset has ${size(bytes)}. Classes, samples and duplicates are shown once all images were read.`),
        h('button', {type: 'button', onclick: read}, 'Read the dataset'));
  return () => {
    gone = true;
  };
}
