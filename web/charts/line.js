// Curves over one axis. The pointer reads values and drags out a zoom, a double click shows all again; with the
// keyboard the arrows read, + and - zoom about what is read, 0 shows all.
'use strict';

(() => {
  const {svg, html, number, ticks, logTicks, scale, figure, whenSized} = Charts.parts;
  const {smooth, lowerBound, within, range, padded, path} = Charts.curves;
  const kLeft = 56, kRight = 22, kTop = 8, kBottom = 40, kColours = 8, kLeastDrag = 8, kRowsOfTable = 500;

  class LineChart {
    constructor(parent, options) {
      this.options = options;
      this.log = Boolean(options.log);
      this.smoothing = options.smoothing || 0;
      this.hidden = new Set();
      this.zoom = null;    // [low, high] of x
      this.cursor = null;  // an x that is read
      this.width = 640;
      this.figure = figure(parent, options.title, () => this.tell());
      this.makeControls();
      this.setSeries(options.series || []);
      whenSized(this.figure.plot, (width) => {
        this.width = width;
        this.draw();
      });
    }

    // Parts around the picture

    makeControls() {
      const {controls, plot} = this.figure;
      this.logBox =
          html('input', {type: 'checkbox', checked: this.log, onchange: () => this.setLog(this.logBox.checked)});
      this.slider = html('input', {type: 'range', min: 0, max: 0.99, step: 0.01, value: this.smoothing});
      this.slider.oninput = () => this.setSmoothing(Number(this.slider.value));
      this.whole = html('button', {type: 'button', hidden: true, onclick: () => this.zoomTo(null)}, 'Show all');
      controls.prepend(
          html('label', {}, this.logBox, 'Log scale'), html('label', {}, 'Smoothing', this.slider), this.whole);
      this.readout = html('p', {className: 'chart-readout'});
      this.readout.setAttribute('aria-live', 'polite');
      this.legend = html('div', {className: 'chart-legend'});
      plot.after(this.readout, this.legend);
      plot.tabIndex = 0;
      plot.setAttribute('role', 'group');
      plot.setAttribute(
          'aria-label', `${this.options.title || 'Chart'}: arrow keys read values, plus and minus zoom, 0 shows all`);
      plot.onkeydown = (event) => this.press(event);
      plot.onpointermove = (event) => this.point(event);
      plot.onpointerdown = (event) => this.beginDrag(event);
      plot.onpointerup = (event) => this.endDrag(event);
      plot.onpointercancel = () => {
        this.drag = null;
      };
      plot.onpointerleave = () => {
        if (!this.drag) this.read(null);
      };
      plot.ondblclick = () => this.zoomTo(null);
    }

    makeLegend() {
      const names = this.series.map((one) => one.name).join('\n');
      if (names === this.legendOf) return;
      this.legendOf = names;
      this.legend.replaceChildren(...this.series.map((one, i) => {
        const mark =
            svg('svg', {viewBox: '0 0 20 8', 'aria-hidden': 'true'},
                svg('line', {class: 'curve series-' + (i % kColours), x1: 0, x2: 20, y1: 4, y2: 4}));
        const button = html('button', {type: 'button'}, mark, one.name);
        const tell = () => button.setAttribute('aria-pressed', String(!this.hidden.has(one.name)));
        button.onclick = () => {
          if (!this.hidden.delete(one.name)) this.hidden.add(one.name);
          tell();
          this.draw();
        };
        tell();
        return button;
      }));
    }

    // What is shown

    setSeries(series) {
      this.series = series.map((one) => ({...one, smoothed: smooth(one.points, this.smoothing)}));
      this.makeLegend();
    }

    update(series) {
      this.setSeries(series);
      this.draw();
    }

    setLog(log) {
      this.log = this.logBox.checked = Boolean(log);
      this.draw();
    }

    setSmoothing(share) {
      this.smoothing = Math.min(Math.max(Number(share) || 0, 0), 0.99);
      this.slider.value = this.smoothing;
      this.update(this.series);
    }

    shown() { return this.series.filter((one) => !this.hidden.has(one.name)); }

    xRange() {
      const [low, high] = this.zoom || range(this.shown().map((one) => one.points), (point) => point[0]) || [0, 1];
      return low < high ? [low, high] : [low - 0.5, low + 0.5];
    }

    yRange([low, high]) {
      const isGood = this.log ? (value) => Number.isFinite(value) && value > 0 : Number.isFinite;
      const lists = this.shown().map((one) => one.points.filter(([x]) => x >= low && x <= high));
      return padded(range(lists, (point) => point[1], isGood) || (this.log ? [0.1, 1] : [0, 1]), this.log);
    }

    draw() {
      const height = this.width < 500 ? 240 : 300, x = this.xRange(), y = this.yRange(x);
      this.height = height;
      this.x = scale(...x, kLeft, this.width - kRight);
      this.y = scale(...y, height - kBottom, kTop, this.log);
      this.marks = svg('g');
      const picture = this.figure.show(this.width, height, [...this.axes(x, y), this.curvesOf(x), this.marks]);
      picture.classList.add('lines');
      this.whole.hidden = !this.zoom;
      this.showCursor();
    }

    axes(x, y) {
      const {width, height} = this, bottom = height - kBottom, parts = [];
      for (const value of this.log ? logTicks(...y, 6) : ticks(...y, 5)) {
        const at = this.y(value);
        if (at < kTop - 1 || at > bottom + 1) continue;
        parts.push(
            svg('line', {class: 'grid', x1: kLeft, x2: width - kRight, y1: at, y2: at}),
            svg('text', {x: kLeft - 6, y: at + 4, 'text-anchor': 'end'}, number(value)));
      }
      for (const value of ticks(...x, width / 110)) {
        const at = this.x(value);
        parts.push(
            svg('line', {class: 'axis', x1: at, x2: at, y1: bottom, y2: bottom + 4}),
            svg('text', {x: at, y: bottom + 17, 'text-anchor': 'middle'}, number(value)));
      }
      parts.push(
          svg('path', {class: 'axis', d: `M${kLeft} ${kTop}V${bottom}H${width - kRight}`}),
          svg('text', {x: (kLeft + width - kRight) / 2, y: height - 6, 'text-anchor': 'middle'},
              this.options.xLabel || ''),
          svg('text', {
            x: 12,
            y: (kTop + bottom) / 2,
            'text-anchor': 'middle',
            transform: `rotate(-90 12 ${(kTop + bottom) / 2})`
          },
              this.options.yLabel || ''));
      return parts;
    }

    /** Cut off at the axes by an inner <svg>, whose overflow is hidden. */
    curvesOf([low, high]) {
      const inside =
          {x: kLeft, y: kTop - 2, width: this.width - kLeft - kRight, height: this.height - kTop - kBottom + 4};
      const area = svg('svg', {...inside, viewBox: `${inside.x} ${inside.y} ${inside.width} ${inside.height}`});
      this.series.forEach((one, i) => {
        if (this.hidden.has(one.name)) return;
        const line = (points, kind) => {
          const d = path(within(points, low, high), this.x, this.y, this.log);
          if (d)
            area.append(svg('path', {class: `curve ${kind} series-${i % kColours}`, d, 'stroke-linecap': 'round'}));
        };
        if (this.smoothing > 0) line(one.points, 'raw');
        line(one.smoothed, '');
      });
      return area;
    }

    // Reading

    point(event) {
      const at = event.clientX - this.figure.plot.getBoundingClientRect().left;
      if (this.drag) {
        this.drag.to = at;
        this.showDrag();
      }
      this.read(this.x.invert(Math.min(Math.max(at, kLeft), this.width - kRight)));
    }

    /** Every x that some curve has, sorted. */
    places() {
      const [low, high] = this.xRange();
      const all = this.shown().flatMap((one) => one.points.map((point) => point[0]));
      return [...new Set(all.filter((x) => x >= low && x <= high))].sort((a, b) => a - b);
    }

    read(x) {
      this.cursor = x;
      this.showCursor();
    }

    nearest(points, x) {
      const i = lowerBound(points, x);
      if (i === 0) return points[0];
      return i < points.length && points[i][0] - x < x - points[i - 1][0] ? points[i] : points[i - 1];
    }

    showCursor() {
      this.marks.replaceChildren();
      const found = this.cursor === null ? [] :
                                           this.shown()
                                               .filter((one) => one.points.length > 0)
                                               .map((one) => ({one, at: this.nearest(one.smoothed, this.cursor)}));
      if (found.length === 0) return void (this.readout.textContent = '');
      const x =
          found.map(({at}) => at[0]).reduce((a, b) => Math.abs(b - this.cursor) < Math.abs(a - this.cursor) ? b : a);
      this.marks.append(
          svg('line', {class: 'cursor', x1: this.x(x), x2: this.x(x), y1: kTop, y2: this.height - kBottom}));
      this.readout.textContent = `${this.options.xLabel || 'x'} ${number(x)}: ` +
          found.map(({one, at}) => `${one.name} ${number(at[1])}${at[0] === x ? '' : ` (at ${number(at[0])})`}`)
              .join(', ');
    }

    // Zooming

    beginDrag(event) {
      if (event.button !== 0 || event.pointerType === 'touch') return;
      const at = event.clientX - this.figure.plot.getBoundingClientRect().left;
      this.drag = {from: at, to: at};
      this.figure.plot.setPointerCapture(event.pointerId);
    }

    showDrag() {
      const {from, to} = this.drag, low = Math.max(kLeft, Math.min(from, to));
      const high = Math.min(this.width - kRight, Math.max(from, to));
      this.box?.remove();
      this.box =
          svg('rect',
              {class: 'zoom', x: low, y: kTop, width: Math.max(0, high - low), height: this.height - kTop - kBottom});
      this.figure.plot.querySelector('svg').append(this.box);
    }

    endDrag() {
      const drag = this.drag;
      this.drag = null;
      this.box?.remove();
      if (!drag || Math.abs(drag.to - drag.from) < kLeastDrag) return;
      this.zoomTo([drag.from, drag.to]
                      .sort((a, b) => a - b)
                      .map((at) => this.x.invert(Math.max(kLeft, Math.min(at, this.width - kRight)))));
    }

    zoomTo(zoom) {
      this.zoom = zoom;
      this.draw();
    }

    zoomBy(factor) {
      const [low, high] = this.xRange(), middle = this.cursor ?? (low + high) / 2;
      this.zoomTo([middle - (middle - low) * factor, middle + (high - middle) * factor]);
    }

    press(event) {
      const places = this.places(),
            now = this.cursor === null ? -1 :
                                         Math.min(places.length - 1, lowerBound(places.map((x) => [x]), this.cursor));
      const go = (i) => {
        if (places.length > 0) this.read(places[Math.min(Math.max(i, 0), places.length - 1)]);
      };
      const acts = {
        ArrowRight: () => go(now + 1),
        ArrowLeft: () => go(now < 0 ? places.length - 1 : now - 1),
        Home: () => go(0),
        End: () => go(places.length - 1),
        '+': () => this.zoomBy(0.5),
        '=': () => this.zoomBy(0.5),
        '-': () => this.zoomBy(2),
        0: () => this.zoomTo(null),
        Escape: () => this.zoomTo(null),
      };
      if (!acts[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      acts[event.key]();
    }

    // In words

    tell() {
      const last = this.series.filter((one) => one.points.length > 0).map((one) => {
        const [x, y] = one.points[one.points.length - 1];
        return `${one.name} ends with ${number(y)} at ${number(x)}`;
      });
      const rows = this.series.flatMap((one) => one.points.slice(-kRowsOfTable).map(([x, y]) => [one.name, x, y]));
      return {
        label: `${this.options.title || 'Chart'}: ${last.join(', ') || 'nothing yet'}`,
        rows,
        headings: ['Curve', this.options.xLabel || 'x', this.options.yLabel || 'Value']
      };
    }
  }

  /**
   * @param {Element} element  what it has is replaced
   * @param {{title, xLabel, yLabel, series: {name, points: [x, y][]}[], log, smoothing}} options  points are sorted by
   *     x
   */
  Charts.line = (element, options) => {
    const chart = new LineChart(element, options);
    return {
      update: (series) => chart.update(series),
      setLog: (log) => chart.setLog(log),
      setSmoothing: (share) => chart.setSmoothing(share),
    };
  };
})();
