// The inside of a net: activations of a blob for an image, and weights of a layer, as pictures and histograms.
import {field, h, number} from '/js/dom.js';
import {scrolling} from '/js/tables.js';

const kMaxBars = 40;

/** Pictures or values of a blob or of a layer's weights, with a histogram. */
function numbers(title, one) {
  const place = h('div', {className: 'panel'}), chart = h('div'),
        parts = [h('h3', {}, `${title}: ${one.name}, ${one.shape.join(' × ')}`)];
  parts.push(
      h('p', {className: 'quiet note'},
        `from ${number(one.least)} to ${number(one.most)}, ${number(one.mean)} on average` +
            (one.not_finite ? `; ${one.not_finite} are not finite` : '')));
  if (one.picture) {
    parts.push(scrolling(title, h('img', {
                   className: 'tiles',
                   src: 'data:image/png;base64,' + one.picture.png,
                   width: one.picture.width,
                   height: one.picture.height,
                   alt: `${title} of ${one.name}: ${one.picture.shown} planes`
                 })));
    if (one.picture.shown < one.picture.planes)
      parts.push(h('p', {className: 'quiet note'}, `the first ${one.picture.shown} of ${one.picture.planes} planes`));
  }
  if (one.values && one.values.length <= kMaxBars) {
    const bars = parts[parts.push(h('div')) - 1];
    Charts.bars(bars, {title: 'All values', labels: one.values.map((_, i) => String(i)), values: one.values});
  }
  place.append(...parts, chart);
  Charts.histogram(chart, {title: 'Values', xLabel: 'value', edges: one.histogram.edges, counts: one.histogram.counts});
  return place;
}

const describe = (one) => [one.name, `${one.name} (${one.type ? one.type + ', ' : ''}${one.shape.join(' × ')})`];

/** The part of the page that shows one image's activations, and weights. */
export class Inside {
  constructor(onChange) {
    this.blob = h('select', {disabled: true, onchange: onChange});
    this.layer = h('select', {disabled: true, onchange: onChange});
    this.activations = h('div');
    this.weights = h('div');
    this.hint = h('p', {className: 'quiet'}, 'Choose a layer. Activations are those of the selected image.');
    this.element =
        h('section', {}, h('h2', {}, 'Inside the net'),
          h('div', {className: 'panel'}, this.hint,
            h('div', {className: 'columns'}, field('Activations of', this.blob, 'a blob, for the selected image'),
              field('Weights of', this.layer, 'a layer'))),
          h('div', {className: 'columns'}, this.activations, this.weights));
  }

  list(answer) {
    this.fill(this.blob, answer.blobs, 'choose a blob');
    this.fill(this.layer, answer.filters, 'choose a layer');
  }

  show(answer) {
    this.activations.replaceChildren(...(answer.activations ? [numbers('Activations', answer.activations)] : []));
    this.weights.replaceChildren(...(answer.weights ? [numbers('Weights', answer.weights)] : []));
  }

  clear() {
    this.activations.replaceChildren();
    this.weights.replaceChildren();
  }

  fill(list, all, first) {
    const before = list.value;
    list.replaceChildren(
        h('option', {value: ''}, first),
        ...all.map(describe).map(([value, text]) => h('option', {value, selected: value === before}, text)));
    list.disabled = all.length === 0;
  }
}
