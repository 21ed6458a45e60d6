// Small pictures of a dataset's records.
import {post} from '/js/api.js';
import {h} from '/js/dom.js';

/** "daisy/1.jpg" of "00000012_daisy/1.jpg". */
export const nameOf = (key) => key.replace(/^\d{8}_/, '');

const blank = (alt, title) => h('img', {className: 'thumbnail', alt, title, width: 64, height: 64});

function put(image, {type, data, width, height}) {
  image.src = `data:${type};base64,${data}`;
  image.classList.toggle('small', Math.max(width, height) < 48);  // pixels stay sharp
}

/** An image of a picture that was loaded. */
export function thumbnail(picture, alt) {
  const image = blank(alt, nameOf(picture.key));
  put(image, picture);
  return image;
}

/** Loads pictures of records into images that are waiting for them. */
export class Pictures {
  constructor(path) {
    this.path = path;
    this.wanted = new Map();  // by set: images by key
  }

  /** An image of a record, which load() fills. */
  image(set, key, label) {
    const image = blank(label, nameOf(key));
    if (!this.wanted.has(set)) this.wanted.set(set, new Map());
    const images = this.wanted.get(set);
    images.set(key, [...(images.get(key) || []), image]);
    return image;
  }

  async load() {
    const wanted = [...this.wanted].filter(([, images]) => images.size > 0);
    this.wanted.clear();
    for (const [set, images] of wanted) {
      const {pictures} = await post('/api/dataset/pictures', {path: this.path, set, keys: [...images.keys()]});
      for (const one of pictures) {
        for (const image of images.get(one.key) || []) {
          put(image, one);
        }
      }
    }
  }
}
