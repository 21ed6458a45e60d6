// Bar charts and histograms.
'use strict';

(() => {
  const {svg, number, ticks, scale, short, chart, characterWidth} = Charts.parts;
  const kBar = 26, kLeft = 56, kBottom = 36, kTop = 8, kRight = 12, kTall = 220;

  /**
   * {title, labels, values, most?: the value of a full bar, text?: value => string}; returns {update({labels,
   * values})}.
   */
  Charts.bars = (element, options) => {
    const text = options.text || number;
    const describe = ({labels, values}) => ({
      label: `${options.title || 'Bars'}: ${labels.map((label, i) => `${label} ${text(values[i])}`).join(', ')}`,
      headings: ['Name', 'Value'],
      rows: labels.map((label, i) => [label, values[i]]),
    });
    return chart(element, options, describe, ({labels, values, most}, width) => {
      const longest = Math.max(4, ...labels.map((label) => label.length)) * characterWidth;
      const names = Math.min(width * 0.4, longest + 12),
            full = most || Math.max(1e-12, ...values.filter(Number.isFinite));
      const at = scale(0, full, names, width - 70);
      const parts = labels.flatMap((label, i) => {
        const y = kTop + i * kBar, long = Number.isFinite(values[i]) ? Math.max(0, at(values[i]) - names) : 0;
        return [
          svg('text', {class: 'value', x: names - 8, y: y + 16, 'text-anchor': 'end'}, svg('title', {}, label),
              short(label, Math.floor((names - 8) / characterWidth))),
          svg('rect', {class: 'bar', x: names, y: y + 3, width: long, height: kBar - 8, rx: 2}),
          svg('text', {class: 'value', x: names + long + 6, y: y + 16}, text(values[i]))
        ];
      });
      return [kTop * 2 + labels.length * kBar, parts];
    });
  };

  /** {title, edges, counts, xLabel?}: one edge more than counts; returns {update({edges, counts})}. */
  Charts.histogram = (element, options) => {
    const describe = ({edges, counts}) => {
      const sum = counts.reduce((a, b) => a + b, 0), top = counts.indexOf(Math.max(...counts));
      return {
        label: `${options.title || 'Histogram'}: ${sum} values from ${number(edges[0])} to ${
                   number(edges[edges.length - 1])}, ` +
            `most of them between ${number(edges[top])} and ${number(edges[top + 1])}`,
        headings: ['From', 'To', 'Count'],
        rows: counts.map((count, i) => [edges[i], edges[i + 1], count]),
      };
    };
    return chart(element, options, describe, ({edges, counts, xLabel}, width) => {
      const most = Math.max(1, ...counts), bottom = kTall - kBottom;
      const x = scale(edges[0], edges[edges.length - 1], kLeft, width - kRight), y = scale(0, most, bottom, kTop);
      const parts =
          ticks(0, most, 4)
              .flatMap(
                  (value) =>
                      [svg('line', {class: 'grid', x1: kLeft, x2: width - kRight, y1: y(value), y2: y(value)}),
                       svg('text', {x: kLeft - 6, y: y(value) + 4, 'text-anchor': 'end'}, number(value))]);
      counts.forEach(
          (count, i) => parts.push(
              svg('rect', {
                class: 'bar',
                x: x(edges[i]) + 0.5,
                y: y(count),
                width: Math.max(0.5, x(edges[i + 1]) - x(edges[i]) - 1),
                height: bottom - y(count)
              },
                  svg('title', {}, `${number(edges[i])} to ${number(edges[i + 1])}: ${count}`))));
      for (const value of ticks(edges[0], edges[edges.length - 1], width / 110))
        parts.push(svg('text', {x: x(value), y: bottom + 16, 'text-anchor': 'middle'}, number(value)));
      parts.push(
          svg('path', {class: 'axis', d: `M${kLeft} ${kTop}V${bottom}H${width - kRight}`}),
          svg('text', {x: (kLeft + width - kRight) / 2, y: kTall - 4, 'text-anchor': 'middle'}, xLabel || ''));
      return [kTall, parts];
    });
  };
})();
