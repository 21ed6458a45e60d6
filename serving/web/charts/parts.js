// Shared by all charts: elements, number formatting, scales, and the figure with its table.
'use strict';
var Charts = {};

Charts.parts = (() => {
  const kSvg = 'http://www.w3.org/2000/svg';
  const characterWidth = 7.2;  // approximate width of a character of the charts' text, in pixels

  /** Creates an SVG element with attributes and children; strings become text nodes. */
  function svg(tag, attributes = {}, ...children) {
    const element = document.createElementNS(kSvg, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  /** Creates an HTML element with properties and children. */
  function html(tag, properties = {}, ...children) {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  }

  /** Formats a number with four significant digits, and an exponent only for very large or small ones. */
  function number(value) {
    if (!Number.isFinite(value)) return String(value);
    const size = Math.abs(value);
    if (size >= 1e6 || (size > 0 && size < 1e-4))
      return value.toExponential(2).replace(/\.?0+e/, 'e').replace('e+', 'e');
    return String(Number(value.toPrecision(size >= 1000 ? 7 : 4)));
  }

  /** About `count` round numbers from `low` to `high`. */
  function ticks(low, high, count) {
    const rough = (high - low) / Math.max(1, count);
    if (!(rough > 0)) return [low];
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough);
    const all = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i)
      all.push(Number((i * step).toPrecision(12)));
    return all;
  }

  /** Powers of ten from `low` to `high`, or round numbers if they are too few. */
  function logTicks(low, high, count) {
    const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
    if (last - first < 1) return ticks(low, high, count).filter((value) => value > 0);
    const every = Math.ceil((last - first + 1) / count), all = [];
    for (let power = first; power <= last; power += every) all.push(10 ** power);
    return all;
  }

  /** A function that maps [low, high] to pixels [from, to], with its inverse. */
  function scale(low, high, from, to, log = false) {
    const lift = log ? Math.log10 : (value) => value, lower = log ? (value) => 10 ** value : (value) => value;
    const begin = lift(low), span = lift(high) - begin || 1;
    const at = (value) => from + ((lift(value) - begin) / span) * (to - from);
    at.invert = (pixel) => lower(begin + ((pixel - from) / (to - from)) * span);
    return at;
  }

  /** A table with a header row; numbers are right-aligned. */
  function table(headings, rows) {
    const cell = (tag, value) => {
      const element = html(tag, {}, typeof value === 'number' ? number(value) : value);
      if (typeof value === 'number') element.className = 'number';
      return element;
    };
    const head =
        html('thead', {}, html('tr', {}, ...headings.map((text) => Object.assign(cell('th', text), {scope: 'col'}))));
    return html(
        'table', {}, head,
        html('tbody', {}, ...rows.map((row) => html('tr', {}, ...row.map((one) => cell('td', one))))));
  }

  /** The figure of a chart. `describe()` returns its text alternative, {label, headings, rows}. */
  function figure(parent, title, describe) {
    const plot = html('div', {className: 'chart-plot'});
    const button = html('button', {type: 'button'}, 'Table');
    const words = html('div', {className: 'wide', hidden: true});
    const controls = html('div', {className: 'chart-controls'});
    const all = html('figure', {className: 'chart'}, html('figcaption', {}, title || ''), controls, plot, words);
    const fill = () => {
      const {headings, rows} = describe();
      words.replaceChildren(table(headings, rows));
    };
    controls.append(button);
    button.setAttribute('aria-expanded', 'false');
    button.setAttribute('aria-label', 'Table of ' + (title || 'the values'));
    button.onclick = () => {
      words.hidden = !words.hidden;
      button.setAttribute('aria-expanded', String(!words.hidden));
      if (!words.hidden) fill();
    };
    parent.replaceChildren(all);
    return {
      all,
      plot,
      controls,
      /** Replaces the drawing by one of this size. */
      show(width, height, parts) {
        const picture =
            svg('svg', {role: 'img', viewBox: `0 0 ${width} ${height}`, height, 'aria-label': describe().label});
        picture.append(...parts);
        plot.replaceChildren(picture);
        if (!words.hidden) fill();
        return picture;
      },
    };
  }

  /** Calls `draw(width)` now and whenever the element's width changes. */
  function whenSized(element, draw) {
    let width = 0;
    const look = () => {
      const now = Math.round(element.clientWidth) || 640;
      if (now === width) return;
      width = now;
      draw(width);
    };
    look();
    if (window.ResizeObserver) new ResizeObserver(look).observe(element);
  }

  /** Truncates to at most `most` characters. */
  const short = (text, most) => text.length > most ? text.slice(0, Math.max(1, most - 1)) + '…' : text;

  /** A chart. `draw(state, width)` returns [height, parts]; it is called again when width or values change. */
  function chart(element, options, describe, draw) {
    const state = {...options};
    const all = figure(element, options.title, () => describe(state));
    let width = 640;
    const show = () => {
      const [height, parts] = draw(state, width);
      all.show(width, height, parts);
    };
    whenSized(all.plot, (now) => {
      width = now;
      show();
    });
    return {
      update: (changed) => {
        Object.assign(state, changed);
        show();
      }
    };
  }

  /** What a score is called: the output of DetectionEvaluate is the mean average precision. */
  const scoreName = (name) => name.replace(/\bdetection_eval\b/, 'mAP');

  return {scoreName, short, chart, characterWidth, svg, html, number, ticks, logTicks, scale, table, figure, whenSized};
})();
