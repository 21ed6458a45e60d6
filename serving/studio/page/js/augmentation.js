// Augmentation: how the data layer changes the images of a dataset.
import {post} from '/js/api.js';
import {field, form, h} from '/js/dom.js';

/** The augmentations: [name, label, maximum, step]. */
const kChanges = [
  ['crop_size', 'Crop size', 1024, 1],
  ['short_side', 'Resize short side to', 1024, 1],
  ['resized_crop', 'Random crop, min. area', 1, 0.01],
  ['flip_h', 'Flip horizontally', 1, 0.05],
  ['flip_v', 'Flip vertically', 1, 0.05],
  ['rotate', 'Rotate, degrees', 180, 1],
  ['shear', 'Shear, degrees', 60, 1],
  ['translate', 'Translate, fraction', 1, 0.01],
  ['brightness', 'Brightness', 1, 0.05],
  ['contrast', 'Contrast', 1, 0.05],
  ['saturation', 'Saturation', 1, 0.05],
  ['hue', 'Hue', 0.5, 0.01],
  ['grayscale', 'Grayscale', 1, 0.05],
  ['blur', 'Blur', 1, 0.05],
  ['noise', 'Noise, gray levels', 255, 1],
  ['erase', 'Erase a part', 1, 0.05],
];

const kNoChange = 'transform_param { } – images unchanged';

/** Samples of a dataset as training reads them, with changes to try out, and the prototxt for them. */
export function augmentation(one) {
  const inputs = new Map(kChanges.map(
      ([name, label, most, step]) => [name, [label, h('input', {type: 'number', min: 0, max: most, step, value: 0})]]));
  const epoch = h('input', {type: 'number', min: 0, step: 1, value: 0});
  const image = h('img', {className: 'sheet', alt: `samples of ${one.path}`, hidden: true}),
        text = h('pre', {}, kNoChange);
  const element = form(
      h('div', {className: 'fields small'}, [...inputs.values()].map(([label, input]) => field(label, input)),
        field('Epoch', epoch, 'selects other random values')),
      'Show samples', async () => {
        const transform = {};
        for (const [name, [, input]] of inputs)
          if (Number(input.value) > 0) transform[name] = Number(input.value);
        const sheet =
            await post('/api/sheet', {path: one.path, count: 32, columns: 8, epoch: Number(epoch.value), transform});
        image.src = 'data:image/png;base64,' + sheet.png;
        image.hidden = false;
        text.textContent = sheet.transform.trim() || kNoChange;
      });
  return h(
      'details', {className: 'panel'}, h('summary', {}, 'Samples and augmentation'), element, image,
      h('p', {className: 'quiet'}, 'The options of the data layer:'), text);
}
