// Jobs of the studio, such as the conversion of a folder: a progress bar with counts, and a button that stops them.
import {get, post, showMessage} from '/js/api.js';
import {duration, h} from '/js/dom.js';

const kPause = 300;  // ms between looks

/** The bar: {element, show(job)}. `passes` are labels of the first, second, ... time that the job counts. */
function bar(passes, seconds) {
  const label = h('span', {}), count = h('span', {className: 'quiet'}),
        progress = h('progress', {'aria-label': passes[0]});
  const stop = h('button', {type: 'button', className: 'plain'}, 'Stop');
  return {
    element: h('div', {className: 'job'}, h('div', {className: 'row'}, label, count, stop), progress),
    stop,
    show({progress: now}) {
      label.textContent = passes[Math.min(now ? now.pass : 1, passes.length) - 1];
      const share = now && now.total > 0 ? now.done / now.total : 0;
      count.textContent = (now ? `${now.done} of ${now.total} images, ` : '') + duration(seconds());
      progress.max = 1;
      if (now)
        progress.value = share;
      else
        progress.removeAttribute('value');
    },
  };
}

/**
 * Shows a job's progress in `place` until it ends. Throws an Error if it failed or was stopped; `isGone()` is true when
 * the page was left.
 */
export async function finished(id, place, passes, isGone = () => false) {
  const begin = Date.now(), shown = bar(passes, () => (Date.now() - begin) / 1000);
  shown.stop.onclick = () => post('/api/job/stop', {id}).catch((error) => showMessage(error.message));
  place.replaceChildren(shown.element);
  try {
    while (!isGone()) {
      const job = await get('/api/job', {id});
      if (job.state === 'done') return job;
      if (job.state === 'stopped') throw new Error('Stopped.');
      if (job.state !== 'running') throw new Error(job.output.trim() || job.state);
      shown.show(job);
      await new Promise((resolve) => setTimeout(resolve, kPause));
    }
    return null;
  } finally {
    place.replaceChildren();
  }
}
