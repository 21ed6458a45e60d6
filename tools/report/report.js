// Fills the report of a run. The page's other script is JSON, made by report_of() in report.cc.
'use strict';

(() => {
  const {
    main,
    numbers: report,
    known,
    figure,
    percent,
    share,
    duration,
    bytes,
    scrollable,
    table,
    chart,
    points,
    isLow
  } = Page;
  const {html, number, scoreName} = Charts.parts;
  const kMaxClasses = 40;  // of a legible confusion matrix

  const folded = (title, ...content) => html('details', {}, html('summary', {}, title), ...content);

  // Each section returns its elements, or an empty array if the run has no data for it.

  function facts() {
    const {run} = report, list = html('dl', {className: 'figures'});
    const add = (name, value, ...notes) => {
      const small = notes.map((note) => html('small', {}, note));
      list.append(html('div', {}, html('dt', {}, name), html('dd', {}, value, ...small)));
    };
    add('State', run.state.replace('_', ' '));
    add('Iteration', String(run.iter), `of ${run.max_iter}`);
    for (const best of run.best) add(`Best ${scoreName(best.name)}`, number(best.value), `at iteration ${best.iter}`);
    if (known(run.loss)) add('Training loss', number(run.loss));
    add('Time', duration(run.seconds));
    if (run.img_s > 0) add('Images per second', number(Math.round(run.img_s)), 'in the last interval');
    const parts = [list];
    if (run.problem) parts.push(html('p', {className: 'bad'}, run.problem));
    for (const note of report.notes) parts.push(html('p', {className: 'warn'}, note));
    return parts;
  }

  function settings() {
    const parts = [];
    if (report.settings && report.settings.length)
      parts.push(table(['setting', 'value', 'default'], report.settings.map((row) => row.map((text) => text || null))));
    if (report.net) {
      const picture = html('img', {src: report.net.image, alt: `The training net: ${report.net.headline}`});
      parts.push(
          folded('Picture of the net', scrollable(html('div', {className: 'net'}, picture), 'Picture of the net')));
    }
    return parts;
  }

  function curves() {
    const {training, tests, outputs} = report.curves, parts = html('div', {className: 'columns'});
    if (!training.loss) return [];
    const add = (title, ...series) => parts.append(chart({title, series}));
    const of = (kind, lists, isWanted) => Object.entries(lists)
                                              .filter(([name]) => isWanted(name))
                                              .map(([name, list]) => ({name: `${kind} ${scoreName(name)}`, points: points(list)}));
    const isCost = (name) => isLow(report.curves, name), isScore = (name) => !isCost(name);
    add('Loss', {name: 'training', points: points(training.loss)}, ...of('test', tests, isCost));
    const scores = [...of('test', tests, isScore), ...of('training', outputs, isScore)];
    if (scores.length) add('Scores', ...scores);
    add('Learning rate', {name: 'rate', points: points(training.rate)});
    if (training.img_s) add('Images per second', {name: 'since the previous point', points: points(training.img_s)});
    if (training.data_wait)
      add('Waiting for data, % of the time',
          {name: 'since the previous point', points: points(training.data_wait, 100)});
    if (training.memory) add('Memory, MiB', {name: 'resident', points: points(training.memory, 2 ** -20)});
    return [parts];
  }

  // The test set

  /** "1000 samples", or the part of the test set that was used and why. */
  function usedSamples({samples, records, limit}, word) {
    return samples === records ? `all ${records} ${word} of the test set` :
                                 `${samples} of the ${records} ${word} of the test set: ${limit}`;
  }

  function sampleItem(sample) {
    const [predicted, ...others] = sample.guesses, isRight = predicted[0] === sample.truth;
    const line = (className, ...text) => html('div', {className}, ...text);
    const words = `Test record ${sample.record}: ${sample.truth}, predicted ${predicted[0]}`;
    const picture =
        sample.image ? [line('picture', html('img', {src: sample.image, alt: words, className: 'pixels'}))] : [];
    const lines = [
      line('', html('strong', {}, predicted[0]), ` ${percent(predicted[1])}`),
      ...(isRight ? [] : [line('bad', `true: ${sample.truth} ${percent(sample.probability)}`)]),
      ...others.filter(([name]) => isRight || name !== sample.truth)
          .map(([name, value]) => line('quiet', `${name} ${percent(value)}`))
    ];
    return html('li', {className: 'image-card'}, ...picture, line('answer note', ...lines));
  }

  function samples(title, total, order, list) {
    if (!total) return [];
    const shown = list.length < total ? `${list.length} of ${total}` : String(total);
    return [html('h3', {}, `${title}: ${shown}, ${order}`), html('ul', {className: 'cards'}, ...list.map(sampleItem))];
  }

  function calibration({error, bins}) {
    const used = bins.filter((bin) => bin.count > 0);
    return chart({
      title: `Calibration: expected error ${percent(error)}`,
      xLabel: 'confidence',
      yLabel: 'accuracy',
      series: [
        {name: 'this net', points: used.map((bin) => [bin.confidence, bin.accuracy])},
        {name: 'perfect calibration', points: [[0, 0], [1, 1]]}
      ]
    });
  }

  function classification(results) {
    const last = results.classifications[results.classifications.length - 1];
    const names = last.classes.map((one) => one.name || String(one.class)), plots = html('div', {className: 'columns'});
    const parts = [
      html(
          'p', {},
          `Accuracy ${percent(last.accuracy)}, loss ${number(results.loss)} on ${usedSamples(results, 'samples')}.`),
      html('p', {className: 'quiet'}, `Weights: ${results.weights}`), plots
    ];
    if (last.confusion && names.length <= kMaxClasses) {
      const matrix = html('div');
      Charts.matrix(matrix, {title: 'Confusion', rows: names, columns: names, values: last.confusion});
      plots.append(matrix);
    }
    if (results.calibration) plots.append(calibration(results.calibration));
    const rows =
        last.classes.map((one, i) => [names[i], one.samples, one.predicted, share(one.recall), share(one.precision)]);
    const tables = html('div', {className: 'columns'});
    const add = (title, columns, list) => tables.append(html('div', {}, html('h3', {}, title), table(columns, list)));
    add('Classes', ['class', 'samples', 'predicted', 'recall', 'precision'], rows);
    const confusions = last.mistaken.slice(0, 15).map((one) => [names[one.true], names[one.predicted], one.count]);
    if (confusions.length) add('Most frequent confusions', ['class', 'predicted', 'times'], confusions);
    parts.push(tables);
    if (results.wrong)
      parts.push(
          ...samples('Wrong', results.wrong_total, 'the most confident first', results.wrong),
          ...samples('Right', results.right_total, 'the least confident first', results.unsure));
    return parts;
  }

  // Detection

  /** A box with its name on a plate; [x0, y0, x1, y1] are fractions of the image. */
  function box(kind, [x0, y0, x1, y1], text) {
    const element = html('div', {className: `box ${kind}`}, html('span', {}, text));
    const at = (value) => `${100 * Math.min(Math.max(value, 0), 1)}%`;
    Object.assign(element.style, {left: at(x0), top: at(y0), right: at(1 - x1), bottom: at(1 - y1)});
    if (y0 < 0.12) element.classList.add('top');
    if (y1 > 0.88) element.classList.add('bottom');
    if (x0 > 0.45) element.classList.add('right');
    return element;
  }

  function detectedImage(one) {
    const right = one.detections.filter((found) => found.right).length, wrong = one.detections.length - right;
    const words = `Test record ${one.record}: ${right} of ${one.objects.length} objects found, ${wrong} false ` +
        (wrong === 1 ? 'detection' : 'detections');
    const boxes = [
      ...one.objects.map((object) => box(object.found ? 'object' : 'missed', object.box, object.name)),
      ...one.detections.map(
          (found) => box(found.right ? 'right-one' : 'false-one', found.box, `${found.name} ${percent(found.score)}`))
    ];
    return html(
        'li', {className: 'image-card'},
        html('div', {className: 'marked'}, html('img', {src: one.image, alt: words}), ...boxes),
        html('div', {className: 'answer note quiet'}, words));
  }

  function legend() {
    const key = (kind, text) => html('li', {}, html('span', {className: `key ${kind}`}), text);
    return html(
        'ul', {className: 'keys'}, key('false-one', 'false detection'), key('missed', 'missed object'),
        key('right-one', 'right detection'), key('object', 'object that was found'));
  }

  function detectedImages(title, list) {
    if (!list || !list.length) return [];
    return [html('h3', {}, title), legend(), html('ul', {className: 'cards large'}, ...list.map(detectedImage))];
  }

  function detection(results) {
    const classes = [...results.detection].sort((a, b) => b.objects - a.objects);
    const byPrecision = [...results.detection].sort((a, b) => a.average_precision - b.average_precision);
    return [
      html(
          'p', {},
          `Mean average precision ${percent(results.mean_average_precision)} on ${usedSamples(results, 'images')}.`),
      html('p', {className: 'quiet'}, `Weights: ${results.weights}`), html('h3', {}, 'Classes'),
      table(
          ['class', 'objects', 'average precision'],
          byPrecision.map((one) => [one.name, one.objects, share(one.average_precision)])),
      chart({
        title: 'Precision over recall',
        xLabel: 'recall',
        yLabel: 'precision',
        series: classes.map((one) => ({name: one.name, points: one.curve}))
      }),
      ...detectedImages('False detections with the highest score', results.false_detections),
      ...detectedImages('Images with the most missed objects', results.missed_objects)
    ];
  }

  function test() {
    const results = report.test;
    if (results && results.detection) return detection(results);
    return results && results.classifications.length ? classification(results) : [];
  }

  // Layers

  function layers() {
    if (!report.layers.length) return [];
    const parts = html('div', {className: 'columns'});
    for (const [title, key] of [['Norms of weights', 'norms'], ['Norms of gradients', 'gradients']])
      parts.append(
          chart({title, log: true, series: report.layers.map((one) => ({name: one.name, points: points(one[key])}))}));
    const choice = html('select', {}, ...report.layers.map((one) => html('option', {value: one.name}, one.name)));
    const place = html('div', {className: 'columns'});
    const show = () => {
      const weight = report.layers.find((one) => one.name === choice.value);
      const histogram = (title, {min, max, bins}) => {
        const element = html('div'), step = (max - min) / bins.length || 1;
        Charts.histogram(
            element, {title, edges: [...bins.keys(), bins.length].map((i) => min + i * step), counts: bins});
        return element;
      };
      place.replaceChildren(
          histogram(`${weight.name}, first`, weight.first), histogram(`${weight.name}, latest`, weight.latest));
    };
    choice.onchange = show;
    show();
    return [parts, html('label', {className: 'row'}, 'Weights of', choice), place];
  }

  function times() {
    const {times} = report;
    if (!times) return [];
    const rate = (value) => known(value) ? figure(value.toFixed(value < 10 ? 1 : 0)) : null;
    const ms = (value) => value > 0 ? value : null;
    const peak = known(times.peak_gflops) ?
        `The peak of this machine is ${number(Math.round(times.peak_gflops))} GFLOP/s; a Winograd convolution needs ` +
            'fewer operations and may exceed it.' :
        '';
    const sorted = [...times.layers].sort((a, b) => b.share - a.share), shown = sorted.slice(0, 20), bars = html('div');
    Charts.bars(bars, {
      title: 'Milliseconds, forward and backward',
      labels: shown.map((one) => one.name),
      values: shown.map((one) => one.forward_ms + one.backward_ms)
    });
    return [
      html(
          'p', {},
          `A batch of ${times.batch} takes ${number(times.forward_ms)} ms forward and ${
              number(times.backward_ms)} ms backward.`),
      bars,
      table(
          [
            'layer', 'type', 'forward, ms', 'backward, ms', 'share of time', 'GFLOP/s, forward', 'GFLOP/s, backward',
            'algorithm'
          ],
          sorted.map(
              (one) =>
                  [one.name, one.type, ms(one.forward_ms), ms(one.backward_ms), share(one.share),
                   rate(one.forward_gflops), rate(one.backward_gflops), one.algorithm || null])),
      html('p', {className: 'quiet'}, `GFLOP/s counts the operations of the layer's definition. ${peak}`)
    ];
  }

  function previous() {
    if (!report.previous) return [];
    const text = `With ${report.previous.runs[0]}, the run that was started before this one in the same folder.`;
    return [html('p', {}, text), ...Page.comparison(report.previous)];
  }

  function environment() {
    const {version, command, folder, machine, inputs, starts} = report.environment;
    const pairs =
        [['program', version], ['command', command.join(' ')], ['folder', folder], ...Object.entries(machine)];
    const parts = [table(['name', 'value'], pairs)];
    if (report.solver) parts.push(folded('Solver', html('pre', {tabIndex: 0}, report.solver)));
    const digest = (text) => html('code', {title: text}, text.slice(0, 12));
    if (inputs.length)
      parts.push(
          html('h3', {}, 'Inputs'),
          table(
              ['kind', 'path', 'size', 'digest'],
              inputs.map((one) => [one.kind, one.path, figure(bytes(one.bytes)), digest(one.digest)])));
    const rows =
        starts.map((one) => [new Date(one.t * 1000).toLocaleString(), one.from || 'the beginning', one.set.join(' ')]);
    parts.push(html('h3', {}, 'Starts'), table(['when', 'from', 'changed settings'], rows));
    if (report.warnings.length)
      parts.push(
          html('h3', {}, 'Warnings'), table(['iteration', 'text'], report.warnings.map((one) => [one.iter, one.text])));
    return parts;
  }

  main.append(...facts());
  Page.addSections([
    ['Settings', settings], ['Curves', curves], ['Test set', test], ['Layers', layers], ['Time', times],
    ['Comparison', previous], ['Environment', environment]
  ]);
})();
