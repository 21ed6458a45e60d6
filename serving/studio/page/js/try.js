// Runs weights on images: classes or objects of each, and the layers' activations and weights for a selected one.
import {dropArea, ImageCard} from '/images.js';
import {get, send} from '/js/api.js';
import {select} from '/js/chooser.js';
import {field, h} from '/js/dom.js';
import {Inside} from '/js/inside.js';

const kMaxImages = 200;
const kFew = 3;                             // images that get larger cards
const kGroup = 16, kGroupBytes = 16 << 20;  // of a request

/** Splits cards into groups, the images of one request each. */
function groupsOf(cards) {
  const groups = [];
  let bytes = 0;
  for (const card of cards) {
    const last = groups[groups.length - 1];
    if (last && last.length < kGroup && bytes + card.file.size <= kGroupBytes) {
      last.push(card);
      bytes += card.file.size;
    } else {
      groups.push([card]);
      bytes = card.file.size;
    }
  }
  return groups;
}

/** Chooses a run and its weights; `onChange` is called when another is chosen. */
function weightsChooser(runs, parameters, onChange) {
  const first = runs.find((one) => one.snapshot) || runs[0];
  const run = select(runs.map((one) => one.path), parameters.get('run') || first.path);
  const snapshot = h('select');
  async function list(wanted) {
    const {snapshots} = await get('/api/run', {path: run.value});
    const best = snapshots.find((one) => one.best), chosen = wanted || best?.name;
    snapshot.replaceChildren(...snapshots.map(
        (one) =>
            h('option', {value: one.name, selected: one.name === chosen}, one.name + (one.best ? ' – best' : ''))));
    if (snapshots.length === 0) snapshot.append(h('option', {value: ''}, 'none yet'));
    onChange();
  }
  run.onchange = () => list('');
  snapshot.onchange = onChange;
  return {
    fields: [field('Run', run), field('Weights', snapshot)],
    value: () => ({run: run.value, snapshot: snapshot.value}),
    start: () => list(parameters.get('snapshot')),
  };
}

/** The images, their cards, and the requests for their answers. */
class Gallery {
  constructor(weights) {
    this.weights = weights;
    this.cards = [];
    this.selected = null;
    this.turn = 0;
    this.mistake = h('p', {className: 'error', role: 'alert', hidden: true});
    this.count = h('h2', {}, '');
    this.threshold = h('input', {type: 'range', min: 0.05, max: 0.95, step: 0.05, value: 0.3});
    this.limit = h('output', {className: 'number'});
    this.slider = h('label', {className: 'row', hidden: true}, 'Score of at least', this.threshold, this.limit);
    this.list = h('ul', {className: 'cards'});
    this.inside = new Inside(() => this.lookInside());
    this.heading = h('div', {className: 'title', hidden: true}, this.count, this.slider);
    this.threshold.oninput = () => this.showAll();
  }

  take(files) {
    this.clear();
    this.cards = files.slice(0, kMaxImages).map((file) => new ImageCard(file, (card) => this.select(card)));
    this.list.append(...this.cards.map((card) => card.element));
    this.heading.hidden = false;
    this.count.textContent = files.length === 1 ? '1 image' :
        files.length > kMaxImages               ? `The first ${kMaxImages} of ${files.length} images` :
                                                  `${files.length} images`;
    this.select(this.cards[0], false);
    this.refresh();
  }

  clear() {
    for (const card of this.cards) card.remove();
    this.cards = [];
    this.selected = null;
  }

  select(card, isAsked = true) {
    this.selected?.select(false);
    this.selected = card;
    card.select(true);
    if (isAsked) this.lookInside();
  }

  /** Runs the chosen weights on all images. */
  async refresh() {
    const mine = ++this.turn, wanted = this.weights.value();
    this.fail('');
    this.inside.clear();
    this.slider.hidden = true;
    this.list.classList.toggle('large', this.cards.length <= kFew);
    for (const card of this.cards) {
      card.answer = null;
      card.wait();
    }
    if (!wanted.snapshot) return this.fail('This run has no snapshot yet.');
    if (this.cards.length === 0) await this.listLayers(wanted, mine);
    for (const group of groupsOf(this.cards)) {
      await this.ask(group, wanted, mine);
      if (mine !== this.turn) return;
    }
    this.lookInside();
  }

  async listLayers(wanted, mine) {
    try {
      const answer = await send('/api/look', wanted, null);
      if (mine === this.turn) this.inside.list(answer);
    } catch (error) {
      if (mine === this.turn) this.fail(error.message);
    }
  }

  /** Shows the answers of a group. If the request fails, each image is sent alone, so that one cannot spoil others. */
  async ask(group, wanted, mine) {
    const files = group.map((card) => card.file);
    try {
      const answer = await send('/api/look', {...wanted, sizes: files.map((one) => one.size).join()}, new Blob(files));
      if (mine !== this.turn) return;
      group.forEach((card, i) => this.show(card, answer.images[i]));
      this.inside.list(answer);
    } catch (error) {
      if (mine !== this.turn) return;
      if (group.length === 1) return group[0].fail(error.message);
      for (const card of group) await this.ask([card], wanted, mine);
    }
  }

  show(card, answer) {
    card.answer = answer;
    if (answer.objects) {
      this.slider.hidden = false;
      this.list.classList.add('large');
    }
    const limit = Number(this.threshold.value);
    this.limit.textContent = limit.toFixed(2);
    card.show(answer, limit);
  }

  showAll() {
    for (const card of this.cards)
      if (card.answer) this.show(card, card.answer);
  }

  /** Shows the selected image's activations, and weights. */
  async lookInside() {
    const mine = this.turn, card = this.selected, {blob, layer} = this.inside;
    const parts = {blob: card ? blob.value : '', layer: layer.value};
    this.asked = parts;
    if (!parts.blob && !parts.layer) return this.inside.clear();
    try {
      const answer = await send('/api/look', {...this.weights.value(), ...parts}, parts.blob ? card.file : null);
      if (mine === this.turn && this.asked === parts) this.inside.show(answer);
      this.fail('');
    } catch (error) {
      if (mine !== this.turn || this.asked !== parts) return;
      this.inside.clear();
      this.fail(error.message);
    }
  }

  fail(message) {
    this.mistake.textContent = message;
    this.mistake.hidden = !message;
  }
}

export async function tryOut(place, parameters) {
  const runs = (await get('/api/runs')).filter((one) => one.state !== 'unreadable');
  if (runs.length === 0) {
    place.append(
        h('h1', {}, 'Try'),
        h('div', {className: 'panel'},
          h('p', {}, 'There are no runs with snapshots yet: ', h('a', {href: '#/new'}, 'start one'), '.')));
    return;
  }
  let gallery = null;
  const weights = weightsChooser(runs, parameters, () => gallery.refresh());
  gallery = new Gallery(weights);
  place.append(
      h('h1', {}, 'Try'),
      h('div', {className: 'columns'},
        h('div', {className: 'panel'}, h('div', {className: 'fields'}, weights.fields),
          h('p', {className: 'quiet note'}, 'Images stay on this machine, and are not stored.')),
        dropArea((files) => gallery.take(files))),
      gallery.mistake, gallery.heading, gallery.list, gallery.inside.element);
  await weights.start();
  return () => gallery.clear();
}
