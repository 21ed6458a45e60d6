// The server's page: sends images to a model and shows its answers.
import {h, shellWord} from '/elements.js';
import {dropArea, ImageCard} from '/images.js';

const at = (id) => document.getElementById(id);
let cards = [], turn = 0;

function headers() {
  const token = at('token').value;
  return token ? {Authorization: 'Bearer ' + token} : {};
}

function path() {
  const model = at('model').value;
  return '/v1/classify' + (model ? '?model=' + encodeURIComponent(model) : '');
}

function showCurl(name) {
  const token = at('token').value ? ' -H \'Authorization: Bearer TOKEN\'' : '';
  const words = ['@' + name, location.origin + path()].map(shellWord);
  at('curl').textContent = `curl${token} --data-binary ${words.join(' ')}`;
}

function showError(message) {
  at('error').textContent = message;
  at('error').hidden = !message;
}

async function ask(url, options) {
  const answer = await fetch(url, {...options, headers: headers()});
  const body = await answer.json().catch(() => ({}));
  if (answer.status === 401) throw new Error('This server requires a token: enter it above.');
  if (!answer.ok) throw new Error(body.error || `${answer.status} ${answer.statusText}`);
  return body;
}

async function listModels() {
  try {
    const models = await ask('/v2/repository/index', {method: 'POST', body: '{"ready": true}'});
    at('model').replaceChildren(...models.map((model) => h('option', {value: model.name}, model.name)));
    showError(models.length > 0 ? '' : 'No model is loaded.');
  } catch (error) {
    showError(error.message);
  }
  showCurl('image.jpg');
}

/** Runs the model on one image and shows the answer on its card. */
async function classify(card, mine) {
  try {
    const start = performance.now(), answer = await ask(path(), {method: 'POST', body: card.file});
    const all = performance.now() - start;
    await card.loaded;
    if (mine !== turn) return;
    const {model, version, milliseconds, top, objects} = answer;
    card.show(
        {objects, classes: top || []}, 0, `${milliseconds.toFixed(1)} ms in the server, ${all.toFixed(1)} ms in all`);
    if (objects) at('images').classList.add('large');
    at('about').textContent = `${model}, version ${version}`;
  } catch (error) {
    if (mine === turn) card.fail(error.message);
  }
}

/** Runs the model on all images, one after the other. */
async function classifyAll() {
  const mine = ++turn;
  showCurl(cards.length > 0 ? cards[0].file.name : 'image.jpg');
  at('images').classList.remove('large');
  for (const card of cards) card.wait();
  for (const card of cards) {
    if (mine !== turn) return;
    await classify(card, mine);
  }
}

function take(files) {
  for (const card of cards) card.remove();
  cards = files.map((file) => new ImageCard(file));
  at('images').append(...cards.map((card) => card.element));
  classifyAll();
}

at('drop').append(dropArea(take));
at('token').onchange = async () => {
  await listModels();
  classifyAll();
};
at('model').onchange = classifyAll;
listModels();
