// Routing of pages: the URL fragment names a page and its parameters, as in #/run?path=runs/first. A page is a function
// of its element and its parameters; the function that it returns is called when the page is left.
import {get} from '/js/api.js';
import {compare} from '/js/compare.js';
import {dataset} from '/js/dataset.js';
import {datasets} from '/js/datasets.js';
import {h} from '/js/dom.js';
import {files} from '/js/files.js';
import {nets} from '/js/nets.js';
import {newRun} from '/js/new_run.js';
import {run} from '/js/run.js';
import {runs} from '/js/runs.js';
import {tryOut} from '/js/try.js';

const kPages = {
  runs: {show: runs, title: 'Runs', in : 'runs'},
  run: {show: run, title: 'Run', in : 'runs'},
  compare: {show: compare, title: 'Compare runs', in : 'runs'},
  new: {show: newRun, title: 'New training', in : 'runs'},
  datasets: {show: datasets, title: 'Datasets', in : 'datasets'},
  dataset: {show: dataset, title: 'Dataset', in : 'datasets'},
  nets: {show: nets, title: 'Nets', in : 'nets'},
  files: {show: files, title: 'Files', in : 'files'},
  try: {show: tryOut, title: 'Try', in : 'try'},
};

const page = document.getElementById('page');
const folder = document.getElementById('folder');
let leave = null, turn = 0;

async function show() {
  const [name, parameters] = location.hash.replace(/^#\/?/, '').split('?');
  const wanted = kPages[name] || kPages.runs, mine = ++turn;
  if (leave) leave();
  leave = null;
  const subject = new URLSearchParams(parameters || '').get('path');
  document.title = [subject || wanted.title, folder.textContent, 'Cortado studio'].filter(Boolean).join(' – ');
  for (const link of document.querySelectorAll('nav a')) {
    if (link.dataset.page === wanted.in)
      link.setAttribute('aria-current', 'page');
    else
      link.removeAttribute('aria-current');
  }
  const place = h('div');
  page.replaceChildren(place);
  page.focus({preventScroll: true});
  scrollTo(0, 0);
  try {
    const left = await wanted.show(place, new URLSearchParams(parameters || ''));
    if (mine === turn)
      leave = left;
    else if (left)
      left();
  } catch (error) {
    place.append(h('p', {className: 'error', role: 'alert'}, error.message));
  }
}

/** The name of the studio's folder, in the header. */
async function showFolder() {
  const studio = await get('/api/studio').catch(() => null);
  if (!studio) return;
  folder.textContent = studio.name;
  folder.title = studio.folder;
}

window.addEventListener('hashchange', show);
await showFolder();
show();
