// Marks of files and folders in lists.
import {kReadable, kShown} from '/formats.js';

const kPaths = {
  folder: 'M1.5 4v9h13V5.5h-7L6 3.5H1.5z',
  file: 'M4 1.5h5l3 3v10H4zM9 1.5v3h3',
  image: 'M1.5 3h13v10h-13zM3 11l3.5-4L9 10l2-2 2.5 3M10.5 5.7h.1',
  dataset: 'M2 4c0-1.6 12-1.6 12 0v8c0 1.6-12 1.6-12 0zM2 4c0 1.6 12 1.6 12 0M2 8c0 1.6 12 1.6 12 0',
  run: 'M2 2v12h12M4.5 4c2 6 4 7 9 7.5',
  training: 'M4 2.5l9 5.5-9 5.5z',
};
const endsIn = (endings) => (name) => endings.some((one) => name.toLowerCase().endsWith(one));

export const isImage = endsIn(kReadable);
/** Whether browsers show the image. */
export const isShown = endsIn(kShown);

/** The mark of an entry of a listing. */
export function icon(entry) {
  const {svg} = Charts.parts;
  const kind = entry.folder ? entry.kind : isImage(entry.name) ? 'image' : 'file';
  return svg(
      'svg', {class: 'icon ' + kind, viewBox: '0 0 16 16', 'aria-hidden': 'true'},
      svg('path', {d: kPaths[kind] || kPaths.file}));
}

/** What a folder of a listing contains: "12 entries". */
export const entries = (one) =>
    one.entries === undefined ? '–' : `${one.entries} ${one.entries === 1 ? 'entry' : 'entries'}`;
