// The cursor and zoom of line charts, by pointer and keyboard.
'use strict';

(() => {
  const {svg, html, number} = Charts.parts;
  const {lowerBound} = Charts.curves;
  const kLeastDrag = 8;

  const nearest = (points, x) => {
    const i = lowerBound(points, x);
    if (i === 0) return points[0];
    return i < points.length && points[i][0] - x < x - points[i - 1][0] ? points[i] : points[i - 1];
  };

  /**
   * For a line chart with `figure`, `area` {left, right, top, bottom}, the scale `x`, shown() and xRange(); draw()
   * redraws it. `marks` is a group of each drawing that the reader fills.
   */
  Charts.Reader = class {
    constructor(chart, label, xLabel) {
      this.chart = chart;
      this.xLabel = xLabel || 'x';
      this.cursor = null;  // the x of the cursor
      this.zoom = null;    // [low, high] of x
      this.marks = svg('g');
      this.whole = html('button', {type: 'button', hidden: true, onclick: () => this.zoomTo(null)}, 'Show all');
      this.readout = html('p', {className: 'chart-readout'});
      this.readout.setAttribute('aria-live', 'polite');
      this.listen(chart.figure.plot, label);
    }

    listen(plot, label) {
      plot.tabIndex = 0;
      plot.setAttribute('role', 'group');
      plot.setAttribute('aria-label', `${label}: arrow keys read values, plus and minus zoom, 0 shows all`);
      plot.onkeydown = (event) => this.press(event);
      plot.onpointermove = (event) => this.point(this.at(event));
      plot.onpointerdown = (event) => this.beginDrag(event);
      plot.onpointerup = () => this.endDrag();
      plot.onpointercancel = () => this.endDrag(true);
      plot.onpointerleave = () => {
        if (!this.drag) this.read(null);
      };
      plot.ondblclick = () => this.zoomTo(null);
    }

    at(event) {
      const {left, right} = this.chart.area, box = this.chart.figure.plot.getBoundingClientRect();
      return Math.min(Math.max(event.clientX - box.left, left), right);
    }

    // Cursor

    point(at) {
      if (this.drag) this.drag.to = at;
      this.read(this.chart.x.invert(at));
    }

    read(x) {
      this.cursor = x;
      this.show();
    }

    /** Fills the marks of a new drawing and the readout. */
    show() {
      const {area, x} = this.chart;
      this.whole.hidden = !this.zoom;
      this.marks.replaceChildren();
      this.readout.textContent = '';
      if (this.drag) {
        const [low, high] = [this.drag.from, this.drag.to].sort((a, b) => a - b);
        this.marks.append(
            svg('rect', {class: 'zoom', x: low, y: area.top, width: high - low, height: area.bottom - area.top}));
      }
      if (this.cursor === null) return;
      const found = this.chart.shown()
                        .filter((one) => one.points.length > 0)
                        .map((one) => ({one, at: nearest(one.smoothed, this.cursor)}));
      if (found.length === 0) return;
      const place = nearest(found.map(({at}) => at).sort((a, b) => a[0] - b[0]), this.cursor)[0];
      this.marks.append(svg('line', {class: 'cursor', x1: x(place), x2: x(place), y1: area.top, y2: area.bottom}));
      const told =
          found.map(({one, at}) => `${one.name} ${number(at[1])}` + (at[0] === place ? '' : ` (at ${number(at[0])})`));
      this.readout.textContent = `${this.xLabel} ${number(place)}: ${told.join(', ')}`;
    }

    // Zooming

    beginDrag(event) {
      if (event.button !== 0 || event.pointerType === 'touch') return;
      this.drag = {from: this.at(event), to: this.at(event)};
      this.chart.figure.plot.setPointerCapture(event.pointerId);
    }

    endDrag(isCancelled = false) {
      const drag = this.drag;
      this.drag = null;
      if (!drag) return;
      if (isCancelled || Math.abs(drag.to - drag.from) < kLeastDrag) return this.show();
      this.zoomTo([drag.from, drag.to].sort((a, b) => a - b).map((at) => this.chart.x.invert(at)));
    }

    zoomTo(zoom) {
      this.zoom = zoom;
      this.chart.draw();
    }

    zoomBy(factor) {
      const {x, area: {left, right}} = this.chart, middle = this.cursor === null ? (left + right) / 2 : x(this.cursor);
      this.zoomTo([middle - (middle - left) * factor, middle + (right - middle) * factor].map((at) => x.invert(at)));
    }

    // Keyboard

    /** Every x of all curves, sorted. */
    places() {
      const [low, high] = this.chart.xRange();
      const all = this.chart.shown().flatMap((one) => one.points.map((point) => point[0]));
      return [...new Set(all.filter((x) => x >= low && x <= high))].sort((a, b) => a - b);
    }

    press(event) {
      const places = this.places(), last = places.length - 1;
      const now = this.cursor === null ? -1 : Math.min(last, lowerBound(places.map((x) => [x]), this.cursor));
      const go = (i) => {
        if (last >= 0) this.read(places[Math.min(Math.max(i, 0), last)]);
      };
      const acts = {
        ArrowRight: () => go(now + 1),
        ArrowLeft: () => go(now < 0 ? last : now - 1),
        Home: () => go(0),
        End: () => go(last),
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
  };
})();
