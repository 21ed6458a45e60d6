// metrics.jsonl as curves. After a resume, recomputed rows replace the earlier ones.

import {get} from '/js/api.js';
import {scoreName} from '/js/dom.js';

const real = (value) => typeof value === 'number' ? value : NaN;  // "NaN", "Inf"

export class Metrics {
  /** `lowest`: names of scores that are better the lower they are; a row of run_start has those of its start. */
  constructor(lowest = []) {
    this.lowest = new Set(lowest);
    this.rows = [];
    this.next = 0;  // bytes read so far
  }

  add(text, next) {
    for (const line of text.split('\n')) {
      if (!line) continue;
      let row;
      try {
        row = JSON.parse(line);
      } catch {
        continue;  // incomplete line
      }
      if (row.ev === 'run_start' || row.ev === 'resume')
        this.rows = this.rows.filter((one) => !['train', 'test'].includes(one.ev) || one.iter < row.iter);
      for (const {name, best} of row.scores || [])
        if (best === 'lowest') this.lowest.add(name);
      this.rows.push(row);
    }
    this.next = next;
  }

  /** Reads the new rows of a run's file, in pieces. */
  async read(path) {
    for (;;) {
      const {text, next} = await get('/api/run/metrics', {path, from: this.next});
      if (!text) return;
      this.add(text, next);
    }
  }

  /** Seconds until `maxIter` at the pace of the current start, tests included; null before it is known. */
  timeLeft(maxIter) {
    const begin = this.rows.findLastIndex((row) => row.ev === 'run_start');
    const steps = this.rows.slice(begin + 1).filter((row) => row.ev === 'train');
    const first = steps[0], last = steps[steps.length - 1];
    if (!first || last.iter <= first.iter) return null;
    const left = (maxIter - last.iter) * (last.t - first.t) / (last.iter - first.iter);
    return Math.max(0, left - Math.max(0, Date.now() / 1000 - last.t));
  }

  series(event, pick, name) {
    const points = this.rows.filter((row) => row.ev === event && pick(row) !== undefined)
                       .map((row) => [row.iter, real(pick(row))]);
    return {name, points};
  }

  /** The outputs of the test nets: "accuracy", or "1: accuracy" if there are several nets. */
  tests() {
    const nets = new Set(), names = new Map();
    for (const row of this.rows) {
      if (row.ev !== 'test') continue;
      nets.add(row.net);
      for (const name of Object.keys(row.outputs || {})) names.set(`${row.net}: ${name}`, {net: row.net, name});
    }
    return [...names.values()].map((one) => ({
                                     ...one,
                                     title: nets.size > 1 ? `${one.net}: ${one.name}` : one.name,
                                     isLow: this.lowest.has(one.net > 0 ? `#${one.net} ${one.name}` : one.name)
                                   }));
  }

  testSeries({net, name, title}) {
    const points = this.rows.filter((row) => row.ev === 'test' && row.net === net && name in (row.outputs || {}))
                       .map((row) => [row.iter, real(row.outputs[name])]);
    return {name: 'test ' + scoreName(title), points};
  }

  losses() {
    return [
      this.series('train', (row) => row.loss, 'training loss'),
      ...this.tests().filter((one) => one.isLow).map((one) => this.testSeries(one))
    ];
  }

  scores() { return this.tests().filter((one) => !one.isLow).map((one) => this.testSeries(one)); }

  rates() { return [this.series('train', (row) => row.lr, 'learning rate')]; }
}
