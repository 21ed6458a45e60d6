// Images and what a net sees in them: an area to drop files on, and a card for each with its classes or objects.
import {h, svg} from '/elements.js';
import {kServed, kServedFormats} from '/formats.js';

const kShownClasses = 5, kShownObjects = 8, kColors = 8, kPixelArt = 100;

export const percent = (share) => (100 * share).toFixed(1) + ' %';

/** An area that takes image files, dropped or chosen. `take` receives an array of Files. */
export function dropArea(take) {
  const input = h('input', {
    id: 'files',
    className: 'unseen',
    type: 'file',
    multiple: true,
    accept: kServed.join()
  });
  const area =
      h('div', {className: 'drop'}, h('strong', {}, 'Drop images here'), input,
        h('label', {htmlFor: 'files', className: 'button first'}, 'Choose images'),
        h('small', {className: 'quiet'}, `${kServedFormats}; as many as you like`));
  const give = (files) => {
    if (files.length > 0) take([...files]);
  };
  area.ondragover = (event) => {
    event.preventDefault();
    area.classList.add('over');
  };
  area.ondragleave = () => area.classList.remove('over');
  area.ondrop = (event) => {
    event.preventDefault();
    area.classList.remove('over');
    give(event.dataTransfer.files);
  };
  input.onchange = () => {
    give(input.files);
    input.value = '';  // the same files can be chosen again
  };
  return area;
}

/** A list of names with scores between 0 and 1, as text and as bars. Rows: {name, score, kind?: a class}. */
export function scoreList(rows) {
  const items = rows.map(({name, score, kind}) => {
    const bar = h('div', {className: 'score-bar ' + (kind || '')});
    bar.style.width = `${100 * Math.min(1, Math.max(0, score))}%`;
    return h(
        'li', {}, h('span', {className: 'score-name', title: name}, name),
        h('span', {className: 'number'}, percent(score)),
        h('div', {className: 'score-track', 'aria-hidden': 'true'}, bar));
  });
  return h('ol', {className: 'scores'}, items);
}

const kindOf = (object) => 'object-' + object.label % kColors;

/** The boxes of objects, to lie over the image. */
function boxes(objects, [width, height]) {
  const unit = Math.max(width, height * 4 / 3) / 100, text = 4.2 * unit;
  const drawn = [...objects].reverse().flatMap((one) => {
    const [x0, y0, x1, y1] = one.box, x = x0 * width, y = y0 * height, title = `${one.name} ${percent(one.score)}`;
    const long = (title.length * 0.62 + 0.6) * text, left = Math.max(0, Math.min(x, width - long));  // of the label
    const box = {x, y, width: (x1 - x0) * width, height: (y1 - y0) * height}, top = Math.max(0, y - 1.3 * text);
    return [
      svg('rect', {...box, class: 'halo'}), svg('rect', {...box, class: 'box ' + kindOf(one)}),
      svg('rect', {x: left, y: top, width: long, height: 1.3 * text, class: 'plate ' + kindOf(one)}),
      svg('text', {x: left + 0.3 * text, y: top + text, 'font-size': text}, title)
    ];
  });
  return svg('svg', {class: 'boxes', viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true'}, ...drawn);
}

/** The card of an image file. `choose`, if given, is called when the user selects the card. */
export class ImageCard {
  constructor(file, choose) {
    this.file = file;
    this.address = URL.createObjectURL(file);
    this.image = h('img', {alt: file.name});
    this.picture = h('div', {className: 'picture'}, this.image);
    this.loaded = this.load();
    this.place = h('div', {className: 'answer'});
    this.name = choose ? h('button', {
      type: 'button',
      className: 'plain',
      'aria-pressed': 'false',
      'aria-label': 'look inside the net with ' + file.name,
      onclick: () => choose(this)
    }) :
                         h('strong');
    this.name.textContent = this.name.title = file.name;
    this.element = h('li', {className: 'image-card'}, this.picture, this.name, this.place);
    this.wait();
  }

  /** Shows the file. Browsers cannot show every format, nor damaged files. */
  async load() {
    this.image.src = this.address;
    try {
      await this.image.decode();
      this.image.classList.toggle('pixels', Math.max(this.image.naturalWidth, this.image.naturalHeight) < kPixelArt);
    } catch {
      this.image.replaceWith(h('span', {className: 'quiet note'}, 'no preview'));
    }
  }

  select(isSelected) {
    this.element.classList.toggle('selected', isSelected);
    this.name.setAttribute('aria-pressed', String(isSelected));
  }

  /** Replaces an old answer until the new one arrives. */
  wait() {
    this.clear();
    this.say('waiting…');
  }

  fail(message) {
    this.clear();
    this.place.append(h('p', {className: 'bad note', role: 'alert'}, message));
  }

  /** Shows {classes}, or {objects, size?} with scores of at least `threshold`; `note` is a line below. */
  show(answer, threshold = 0, note = '') {
    if (answer.error) return this.fail(answer.error);
    this.clear();
    if (answer.objects)
      this.showObjects(answer.objects.filter((one) => one.score >= threshold), answer.size);
    else if (answer.classes)
      this.place.append(
          scoreList(answer.classes.slice(0, kShownClasses).map((one) => ({name: one.name, score: one.probability}))));
    else
      this.say('The output is neither classes nor objects.');
    if (note) this.say(note);
  }

  /** Adds a line to the answer. */
  say(text) { this.place.append(h('p', {className: 'quiet note'}, text)); }

  showObjects(objects, size) {
    this.picture.append(boxes(objects, size || [this.image.naturalWidth || 4, this.image.naturalHeight || 3]));
    if (objects.length === 0) this.say('no objects above the threshold');
    this.place.append(scoreList(objects.slice(0, kShownObjects).map((one) => ({...one, kind: kindOf(one)}))));
    if (objects.length > kShownObjects) this.say(`and ${objects.length - kShownObjects} more`);
  }

  clear() {
    this.place.replaceChildren();
    this.picture.querySelector('.boxes')?.remove();
  }

  remove() {
    URL.revokeObjectURL(this.address);
    this.element.remove();
  }
}
