// Shared by the pages of page.h: their numbers, elements for values and tables, and sections.
'use strict';

const Page = (() => {
  const {html, number} = Charts.parts;
  const main = document.getElementById('report');
  const numbers = JSON.parse(document.getElementById('numbers').textContent);

  const known = (value) => value !== null && value !== undefined;

  /** Text that is aligned as a number. */
  const figure = (text) => ({figure: text});
  const percent = (share) => known(share) ? `${(100 * share).toFixed(1)}\u00a0%` : '–';
  const share = (value) => figure(percent(value));
  const isNumeric = (value) => typeof value === 'number' || known(value?.figure);

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

  /** The text, with places for line breaks after the slashes of a path, or the dots of a field. */
  function breakable(text) {
    if (text.includes(' ')) return [text];
    const parts = text.split(text.includes('/') ? /(?<=\/)/ : /(?<=\.)(?=[a-z])/);
    return parts.flatMap((part, i) => i ? [html('wbr'), part] : [part]);
  }

  function contentOf(value) {
    if (!known(value)) return ['–'];
    if (typeof value === 'number') return [number(value)];
    if (typeof value === 'string') return breakable(value);
    return [known(value.figure) ? value.figure : value];
  }

  /** The element. While its content is wider, it can be focused, so that keys can scroll it. */
  function scrollable(element, label) {
    const look = () => {
      const scrolls = element.scrollWidth > element.clientWidth + 1;
      for (const [name, value] of [['tabindex', '0'], ['role', 'region'], ['aria-label', label]]) {
        if (scrolls)
          element.setAttribute(name, value);
        else
          element.removeAttribute(name);
      }
    };
    new ResizeObserver(look).observe(element);
    return element;
  }

  /** A table. Numbers, and texts made by figure() and share(), are aligned to the right; null is a dash. */
  function table(headings, rows) {
    const classes = headings.map((_, i) => rows.some((row) => isNumeric(row[i])) ? 'number' : '');
    const cells = (tag, row, more = {}) =>
        html('tr', {}, ...row.map((value, i) => html(tag, {className: classes[i], ...more}, ...contentOf(value))));
    const head = html('thead', {}, cells('th', headings, {scope: 'col'}));
    const body = html('tbody', {}, ...rows.map((row) => cells('td', row)));
    return scrollable(html('div', {className: 'wide'}, html('table', {}, head, body)), headings.join(', '));
  }

  function chart(options) {
    const element = html('div');
    Charts.line(element, {xLabel: 'iteration', ...options});
    return element;
  }

  const points = (list, factor = 1) => list.map(([x, y]) => [x, y === null ? NaN : y * factor]);

  /** Whether a curve of `curves` is of a score that is better the lower it is, as the record says. */
  const isLow = (curves, name) => curves.lowest.includes(name);

  /** Adds the sections [title, make] that have content, and links to them. make() returns elements. */
  function addSections(sections) {
    const nav = html('nav', {className: 'sections', ariaLabel: 'Sections'});
    main.append(nav);
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
  }

  /**
   * The tables of a comparison of runs, as comparison_json() writes it. More than 20 differences of nets are folded.
   */
  function comparison({runs, scores, settings, layers, facts, summary}) {
    const value = (one) => one === '' ? null : one, parts = [];
    const add = (title, columns, rows, none) => {
      parts.push(html('h3', {}, title));
      parts.push(rows.length ? table([...columns, ...runs], rows) : html('p', {className: 'quiet'}, none));
    };
    add('Best scores', ['score'], scores.map((one) => [one.name, ...one.values]), 'No run was tested after an update.');
    add('Settings', ['setting'], settings.map((one) => [one.name, ...one.values.map(value)]), 'The same.');
    const rows = layers.map(
        (one) =>
            [(one.net === 'net' ? '' : `${one.net}: `) + one.layer, one.field || 'type', ...one.values.map(value)]);
    add('Layers', ['layer', 'field'], rows, 'The same.');
    if (rows.length > 20) parts.push(html('details', {}, html('summary', {}, summary), parts.pop()));
    add('Inputs and machine', ['name'], facts.map((one) => [one.name, ...one.values.map(value)]), 'The same.');
    return parts;
  }

  return {
    main,
    numbers,
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
    isLow,
    addSections,
    comparison
  };
})();
