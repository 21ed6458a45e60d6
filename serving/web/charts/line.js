// Line charts; charts/reader.js adds the cursor and zoom.
'use strict';

(() => {
  const {svg, html, number, ticks, logTicks, scale, figure, whenSized, characterWidth} = Charts.parts;
  const {smooth, within, range, padded, path} = Charts.curves;
  const kLeft = 56, kRight = 22, kTop = 8, kBottom = 40, kLineOfMark = 16, kRowsOfTable = 500;

  class LineChart {
    constructor(parent, options) {
      this.options = options;
      this.log = Boolean(options.log);
      this.smoothing = options.smoothing || 0;
      this.hidden = new Set();
      this.choice = new Charts.Choice(options.title || 'the chart', () => {
        this.makeLegend();
        this.draw();
      });
      this.width = 640;
      this.figure = figure(parent, options.title, () => this.describe());
      this.reader = new Charts.Reader(this, options.title || 'Chart', options.xLabel);
      this.makeControls();
      this.setSeries(options.series || []);
      whenSized(this.figure.plot, (width) => {
        this.width = width;
        this.draw();
      });
    }

    // Controls

    makeControls() {
      const {controls, plot} = this.figure;
      this.logBox =
          html('input', {type: 'checkbox', checked: this.log, onchange: () => this.setLog(this.logBox.checked)});
      this.slider = html('input', {type: 'range', min: 0, max: 0.99, step: 0.01, value: this.smoothing});
      this.slider.oninput = () => this.setSmoothing(Number(this.slider.value));
      controls.prepend(
          html('label', {}, this.logBox, 'Log scale'), html('label', {}, 'Smoothing', this.slider), this.reader.whole);
      this.legend = html('div', {className: 'chart-legend'});
      plot.after(this.reader.readout, this.legend, this.choice.element);
    }

    makeLegend() {
      const chosen = this.chosen(), names = chosen.map((one) => one.name).join('\n');
      if (names === this.legendOf) return;
      this.legendOf = names;
      this.legend.replaceChildren(...chosen.map((one) => {
        const mark =
            svg('svg', {viewBox: '0 0 20 8', 'aria-hidden': 'true'},
                svg('line', {class: `curve ${this.colourOf(one)}`, x1: 0, x2: 20, y1: 4, y2: 4}));
        const button = html('button', {type: 'button'}, mark, one.name);
        const describe = () => button.setAttribute('aria-pressed', String(!this.hidden.has(one.name)));
        button.onclick = () => {
          if (!this.hidden.delete(one.name)) this.hidden.add(one.name);
          describe();
          this.draw();
        };
        describe();
        return button;
      }));
    }

    // Visible data

    setSeries(series) {
      this.series = series.map((one) => ({...one, smoothed: smooth(one.points, this.smoothing)}));
      this.choice.offer(series);
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

    chosen() { return this.series.filter((one) => this.choice.colours.has(one.name)); }

    shown() { return this.chosen().filter((one) => !this.hidden.has(one.name)); }

    colourOf(one) { return `series-${this.choice.colours.get(one.name)}`; }

    xRange() {
      const [low, high] =
          this.reader.zoom || range(this.shown().map((one) => one.points), (point) => point[0]) || [0, 1];
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
      this.x = scale(...x, kLeft, this.width - kRight, this.options.xLog);
      this.y = scale(...y, height - kBottom, kTop, this.log);
      this.area = {left: kLeft, right: this.width - kRight, top: kTop, bottom: height - kBottom};
      const picture = this.figure.show(
          this.width, height, [...this.axes(x, y), this.curvesOf(x), ...this.marksOf(x), this.reader.marks]);
      picture.classList.add('lines');
      this.reader.show();
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
      for (const value of this.options.xLog ? logTicks(...x, width / 110) : ticks(...x, width / 110)) {
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

    /** An inner <svg> with hidden overflow clips the curves at the axes. */
    curvesOf([low, high]) {
      const inside =
          {x: kLeft, y: kTop - 2, width: this.width - kLeft - kRight, height: this.height - kTop - kBottom + 4};
      const area = svg('svg', {...inside, viewBox: `${inside.x} ${inside.y} ${inside.width} ${inside.height}`});
      for (const one of this.shown()) {
        const line = (points, kind) => {
          const seen = within(points, low, high), d = path(seen, this.x, this.y, this.log);
          const names = `curve ${kind} ${this.colourOf(one)}${seen.length === 1 ? ' alone' : ''}`;
          if (d) area.append(svg('path', {class: names, d, 'stroke-linecap': 'round'}));
        };
        if (this.smoothing > 0) line(one.points, 'raw');
        line(one.smoothed, '');
      }
      return area;
    }

    /** Vertical lines with a label each; the labels are below each other. */
    marksOf([low, high]) {
      const bottom = this.height - kBottom, marks = (this.options.marks || []).filter(({x}) => x >= low && x <= high);
      return marks.sort((a, b) => a.x - b.x).flatMap(({x, label}, i) => {
        const at = this.x(x), text = `${label} ${number(x)}`;
        const isRight = at + text.length * characterWidth > this.width - kRight;
        return [
          svg('line', {class: 'guide', x1: at, x2: at, y1: kTop, y2: bottom}),
          svg('text', {
            class: 'guide-label',
            x: at + (isRight ? -6 : 6),
            y: kTop + (i + 1) * kLineOfMark,
            'text-anchor': isRight ? 'end' : 'start'
          },
              text)
        ];
      });
    }

    // Text alternative

    describe() {
      const last = this.chosen().filter((one) => one.points.length > 0).map((one) => {
        const [x, y] = one.points[one.points.length - 1];
        return `${one.name} ends with ${number(y)} at ${number(x)}`;
      });
      for (const {x, label} of this.options.marks || []) last.push(`${label} ${number(x)}`);
      const rows = this.chosen().flatMap((one) => one.points.slice(-kRowsOfTable).map(([x, y]) => [one.name, x, y]));
      return {
        label: `${this.options.title || 'Chart'}: ${last.join(', ') || 'nothing yet'}`,
        rows,
        headings: ['Curve', this.options.xLabel || 'x', this.options.yLabel || 'Value']
      };
    }
  }

  /**
   * @param {Element} element  what it has is replaced
   * @param {{title, xLabel, yLabel, series: {name, points: [x, y][], colour?: 0 to 7}[], log, xLog, smoothing,
   *     marks: {x, label}[]}} options  points are sorted by x; of more than eight curves the reader chooses
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
