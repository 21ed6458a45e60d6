// The report of a run: shows the data of the element #numbers as sections with charts and tables.
'use strict';

(() => {
  const report = JSON.parse(document.getElementById('numbers').textContent);
  const main = document.getElementById('report');
  const {svg, html, number} = Charts.parts;
  const percent = (share) => share === null || share === undefined ? '–' : `${(100 * share).toFixed(1)} %`;
  const known = (value) => value !== null && value !== undefined;

  function duration(seconds) {
    const whole = Math.round(seconds), h = Math.floor(whole / 3600), m = Math.floor(whole / 60) % 60;
    return h > 0 ? `${h} h ${m} min` : m > 0 ? `${m} min ${whole % 60} s` : `${whole} s`;
  }

  function bytes(count) {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    let unit = 0;
    for (; count >= 1024 && unit + 1 < units.length; ++unit) count /= 1024;
    return `${number(count)} ${units[unit]}`;
  }

  function table(headings, rows) {
    const cell = (tag, value) => html(
        tag, typeof value === 'number' ? {className: 'number'} : {className: 'break'},
        typeof value === 'number' ? number(value) : value);
    const column = (text, i) => html('th', {scope: 'col', className: typeof rows[0]?.[i] === 'number' ? 'number' : ''}, text);
    const head = html('thead', {}, html('tr', {}, ...headings.map(column)));
    const body = html('tbody', {}, ...rows.map((row) => html('tr', {}, ...row.map((value) => cell('td', value)))));
    return html('div', {className: 'wide'}, html('table', {}, head, body));
  }

  // Each section returns its elements, or an empty array if the run has no data for it.

  function facts() {
    const {run} = report, list = html('dl', {className: 'facts'});
    const add = (name, value) => list.append(html('div', {}, html('dt', {}, name), html('dd', {}, value)));
    add('State', run.state.replace('_', ' '));
    add('Iteration', `${run.iter} of ${run.max_iter}`);
    for (const best of run.best) add(`Best ${best.name}`, `${number(best.value)} at ${best.iter}`);
    if (known(run.loss)) add('Training loss', number(run.loss));
    add('Time', duration(run.seconds));
    if (run.img_s > 0) add('Images per second', number(Math.round(run.img_s)));
    const parts = [list];
    if (run.problem) parts.push(html('p', {className: 'bad'}, run.problem));
    for (const note of report.notes) parts.push(html('p', {className: 'warn'}, note));
    return parts;
  }

  function chart(options) {
    const element = html('div');
    Charts.line(element, {xLabel: 'iteration', ...options});
    return element;
  }

  const points = (list, factor = 1) => list.map(([x, y]) => [x, y === null ? NaN : y * factor]);

  function curves() {
    const {training, tests, outputs} = report.curves, parts = html('div', {className: 'columns'});
    if (!training.loss) return [];
    const isLoss = (name) => name.includes('loss');
    const losses = [{name: 'training', points: points(training.loss)}];
    for (const [name, list] of Object.entries(tests))
      if (isLoss(name)) losses.push({name: `test ${name}`, points: points(list)});
    parts.append(chart({title: 'Loss', series: losses}));
    const scores = [];
    for (const [name, list] of Object.entries(tests))
      if (!isLoss(name)) scores.push({name: `test ${name}`, points: points(list)});
    for (const [name, list] of Object.entries(outputs))
      if (!isLoss(name)) scores.push({name: `training ${name}`, points: points(list)});
    if (scores.length) parts.append(chart({title: 'Scores', series: scores}));
    parts.append(chart({title: 'Learning rate', series: [{name: 'rate', points: points(training.rate)}]}));
    if (training.img_s)
      parts.append(chart({title: 'Images per second', series: [{name: 'img/s', points: points(training.img_s)}]}));
    if (training.data_wait)
      parts.append(chart(
          {title: 'Waiting for data, %', series: [{name: 'share of time', points: points(training.data_wait, 100)}]}));
    if (training.memory)
      parts.append(
          chart({title: 'Memory, MiB', series: [{name: 'resident', points: points(training.memory, 2 ** -20)}]}));
    return [parts];
  }

  function samples(title, list) {
    const items = list.map((sample) => {
      const picture = sample.image ?
          [html('img', {src: sample.image, alt: `Test record ${sample.record}, class ${sample.truth}`})] :
          [];
      const guesses =
          sample.guesses.map(([name, share]) => html('div', {className: 'quiet'}, `${name} ${percent(share)}`));
      return html('li', {}, ...picture, html('strong', {}, sample.truth), ...guesses);
    });
    return [html('h3', {}, title), html('ul', {className: 'samples'}, ...items)];
  }

  function calibration({error, bins}) {
    const element = html('div'), used = bins.filter((bin) => bin.count > 0);
    Charts.line(element, {
      title: `Calibration: expected error ${percent(error)}`,
      xLabel: 'confidence',
      yLabel: 'accuracy',
      series: [
        {name: 'this net', points: used.map((bin) => [bin.confidence, bin.accuracy])},
        {name: 'perfect calibration', points: [[0, 0], [1, 1]]}
      ]
    });
    return element;
  }

  /** An image with boxes, [x0, y0, x1, y1] as fractions of its size, each with a label. */
  function boxes(one) {
    const picture = html('img', {src: one.image, alt: ''}), size = 240;
    const box = (name, [x0, y0, x1, y1], text) => [
      svg('rect', {class: name, x: x0 * size, y: y0 * size, width: (x1 - x0) * size, height: (y1 - y0) * size}),
      svg('text', {class: name, x: x0 * size + 2, y: Math.max(10, y0 * size - 2)}, text)
    ];
    const words = `${one.objects.length} objects, ${one.found.length} found`;
    const layer = svg(
        'svg', {viewBox: `0 0 ${size} ${size}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': words},
        ...one.objects.flatMap(([label, ...corners]) => box('there', corners, String(label))),
        ...one.found.flatMap(([label, score, ...corners]) => box('found', corners, `${label} ${percent(score)}`)));
    return html('li', {}, html('div', {className: 'boxes'}, picture, layer));
  }

  function detection(results) {
    const curves = html('div'), classes = results.detection;
    const mean = classes.reduce((sum, one) => sum + one.average_precision, 0) / Math.max(1, classes.length);
    Charts.line(curves, {
      title: 'Precision over recall',
      xLabel: 'recall',
      yLabel: 'precision',
      series: classes.slice(0, 20).map((one) => ({name: `class ${one.class}`, points: one.curve}))
    });
    const parts = [
      html(
          'p', {}, `${results.samples} of ${results.records} images by ${results.weights}: mean average precision ` +
              `${percent(mean)}.`),
      curves,
      table(['class', 'objects', 'average precision'], classes.map((one) => [String(one.class), one.objects, percent(one.average_precision)]))
    ];
    if (results.images)
      parts.push(
          html('h3', {}, 'Ground truth (dashed) and detections with a score of at least 30 %'),
          html('ul', {className: 'samples wide-samples'}, ...results.images.map(boxes)));
    return parts;
  }

  function test() {
    const results = report.test;
    if (results && results.detection) return detection(results);
    if (!results || !results.classifications.length) return [];
    const last = results.classifications[results.classifications.length - 1], parts = [];
    const names = last.classes.map((one) => one.name || String(one.class));
    parts.push(html(
        'p', {}, `${results.samples} of ${results.records} samples by ${results.weights}: accuracy ${percent(last.accuracy)}, loss ` +
            `${number(results.loss)}.`));
    if (last.confusion && names.length <= 40) {
      const matrix = html('div');
      Charts.matrix(matrix, {title: 'Confusion', rows: names, columns: names, values: last.confusion});
      parts.push(matrix);
    }
    const rows = last.classes.map(
        (one, i) => [names[i], one.samples, one.predicted, percent(one.recall), percent(one.precision)]);
    parts.push(
        html('h3', {}, 'Classes'), table(['class', 'samples', 'predicted', 'recall', 'precision'], rows));
    const confusions =
        last.mistaken.slice(0, 15).map((one) => [names[one.true], names[one.predicted], one.count]);
    if (confusions.length)
      parts.push(html('h3', {}, 'Most frequent confusions'), table(['class', 'predicted', 'times'], confusions));
    if (results.calibration) parts.push(calibration(results.calibration));
    if (results.worst) parts.push(...samples('Lowest probability of the true class', results.worst));
    if (results.best) parts.push(...samples('Highest probability of the true class', results.best));
    return parts;
  }

  function layers() {
    if (!report.layers.length) return [];
    const parts = html('div', {className: 'columns'});
    for (const [title, key] of [['Norms of weights', 'norms'], ['Norms of gradients', 'gradients']])
      parts.append(
          chart({title, log: true, series: report.layers.map((one) => ({name: one.name, points: points(one[key])}))}));
    const choice = html('select', {}, ...report.layers.map((one) => html('option', {value: one.name}, one.name)));
    const place = html('div');
    const show = () => {
      const weight = report.layers.find((one) => one.name === choice.value);
      const histogram = (title, {min, max, bins}) => {
        const element = html('div'), step = (max - min) / bins.length || 1;
        Charts.histogram(element, {title, edges: [...bins.keys(), bins.length].map((i) => min + i * step), counts: bins});
        return element;
      };
      place.replaceChildren(
          histogram(`${weight.name}, first`, weight.first), histogram(`${weight.name}, latest`, weight.latest));
    };
    place.className = 'columns';
    choice.onchange = show;
    show();
    return [parts, html('label', {className: 'row'}, 'Weights of', choice), place];
  }

  function times() {
    const {times} = report;
    if (!times) return [];
    const ms = (step) => step && known(step.median_ms) && step.median_ms > 0 ? step.median_ms : 0;
    // Operands in a cache move faster than the measured memory bandwidth, so a share above 1 is not shown.
    const roof = (step) => step && step.roofline_share > 1 ? '–' : percent(step.roofline_share);
    const rows = times.layers.map(
        (layer) =>
            [layer.name, layer.type, ms(layer.forward), ms(layer.backward), roof(layer.forward),
             roof(layer.backward), layer.algorithm || '']);
    rows.sort((a, b) => b[2] + b[3] - a[2] - a[3]);
    const element = html('div'), shown = rows.slice(0, 20);
    Charts.bars(
        element,
        {title: 'Milliseconds, forward and backward', labels: shown.map((row) => row[0]), values: shown.map((row) => row[2] + row[3])});
    return [
      html(
          'p', {}, `A forward and backward pass of the training net takes ${number(times.both.median_ms)} ms, ` +
              (times.roofline_share > 1 ? '' : `${percent(times.roofline_share)} of the roofline `) +
              `(${number(times.peak_gflops)} GFLOP/s, ${number(times.memory_gbytes_per_second)} GB/s from memory; – marks ` +
              'a step whose operands are in a cache).'),
      element,
      table(['layer', 'type', 'forward ms', 'backward ms', 'of roofline, forward', 'of roofline, backward', 'algorithm'], rows)
    ];
  }

  function previous() {
    const before = report.previous;
    if (!before) return [];
    const parts = [html('p', {}, `Compared with ${before.path}, the previous run in the same folder.`)];
    const value = (one) => known(one) ? one : '–';
    if (before.scores.length)
      parts.push(table(['best score', before.path, 'this run'], before.scores.map(([name, a, b]) => [name, value(a), value(b)])));
    if (before.facts.length) parts.push(table(['', before.path, 'this run'], before.facts));
    for (const file of before.files)
      parts.push(html('h3', {}, file.name), html('pre', {tabIndex: 0}, file.lines.join('\n')));
    return parts;
  }

  function environment() {
    const {version, command, folder, machine, inputs, starts} = report.environment;
    const pairs = [['program', version], ['command', command.join(' ')], ['folder', folder], ...Object.entries(machine)];
    const parts = [table(['', ''], pairs)];
    if (report.solver) parts.push(html('h3', {}, 'Solver'), html('pre', {}, report.solver));
    if (inputs.length)
      parts.push(
          html('h3', {}, 'Inputs'),
          table(['kind', 'path', 'size', 'digest'], inputs.map((one) => [one.kind, one.path, bytes(one.bytes), one.digest])));
    const rows = starts.map(
        (one) => [new Date(one.t * 1000).toLocaleString(), one.from || 'the beginning', one.set.join(' ')]);
    parts.push(html('h3', {}, 'Starts'), table(['when', 'from', 'set'], rows));
    if (report.warnings.length)
      parts.push(html('h3', {}, 'Warnings'), table(['iteration', 'text'], report.warnings.map((one) => [one.iter, one.text])));
    return parts;
  }

  const nav = html('nav', {className: 'sections', ariaLabel: 'Sections'});
  main.append(...facts(), nav);
  const sections = [
    ['Curves', curves], ['Test set', test], ['Layers', layers], ['Time', times], ['Comparison with the previous run', previous],
    ['Environment', environment]
  ];
  for (const [title, make] of sections) {
    const id = title.toLowerCase().replace(/ /g, '-');
    const section = html('section', {id}, html('h2', {}, title));
    main.append(section);
    const parts = make();
    if (parts.length === 0) {
      section.remove();
      continue;
    }
    section.append(...parts);
    nav.append(html('a', {href: `#${id}`}, title));
  }
})();
