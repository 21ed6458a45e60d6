// A heat map of a matrix.
'use strict';

(() => {
  const {svg, number, short, chart, characterWidth} = Charts.parts;
  const kRight = 12;

  /**
   * {title, rows, columns, values, rowLabel?, columnLabel?}: values[row][column]. Cells are coloured by their fraction
   * of the row's sum, as in a confusion matrix; numbers are omitted in small cells. Returns {update({values})}.
   */
  Charts.matrix = (element, options) => {
    const rowLabel = options.rowLabel || 'true class', columnLabel = options.columnLabel || 'predicted class';
    const describe = ({rows, columns, values}) => {
      const sum = values.flat().reduce((a, b) => a + b, 0), right = values.reduce((a, row, i) => a + (row[i] || 0), 0);
      return {
        label: `${options.title || 'Matrix'}: ${number(right)} of ${number(sum)} on the diagonal`,
        headings: [`${rowLabel} \\ ${columnLabel}`, ...columns],
        rows: rows.map((name, i) => [name, ...values[i]])
      };
    };
    return chart(element, options, describe, ({rows, columns, values}, width) => {
      const longest = (names) => Math.max(1, ...names.map((name) => name.length)) * characterWidth;
      const left = Math.min(width * 0.3, longest(rows) + 26), top = Math.min(110, longest(columns) + 30);
      const cell = Math.min(56, (width - left - kRight) / columns.length), parts = [];
      const digits = Math.max(...values.flat().map((value) => number(value).length)) * characterWidth;
      rows.forEach((name, i) => {
        const sum = values[i].reduce((a, b) => a + b, 0) || 1, y = top + i * cell;
        if (cell > 9)
          parts.push(
              svg('text', {class: 'value', x: left - 6, y: y + cell / 2 + 4, 'text-anchor': 'end'},
                  svg('title', {}, name), short(name, Math.floor((left - 24) / characterWidth))));
        columns.forEach((other, j) => {
          const share = values[i][j] / sum, x = left + j * cell;
          parts.push(
              svg('rect', {
                class: 'cell',
                x,
                y,
                width: cell,
                height: cell,
                'fill-opacity': share < 0.5 ? 0.6 * Math.sqrt(share) : 1
              },
                  svg('title', {}, `${rowLabel} ${name}, ${columnLabel} ${other}: ${number(values[i][j])}`)));
          if (cell > digits + 2 && values[i][j] !== 0)
            parts.push(
                svg('text', {
                  class: share < 0.5 ? 'value' : 'on-heat',
                  x: x + cell / 2,
                  y: y + cell / 2 + 4,
                  'text-anchor': 'middle'
                },
                    number(values[i][j])));
        });
      });
      columns.forEach((name, j) => {
        const x = left + j * cell + cell / 2 + 4;
        if (cell > 9)
          parts.push(
              svg('text', {class: 'value', x, y: top - 6, transform: `rotate(-90 ${x} ${top - 6})`},
                  svg('title', {}, name), short(name, Math.floor((top - 26) / characterWidth))));
      });
      const height = top + rows.length * cell + 4, middle = top + rows.length * cell / 2;
      parts.push(
          svg('rect', {class: 'frame', x: left, y: top, width: cell * columns.length, height: cell * rows.length}),
          svg('text', {x: left + cell * columns.length / 2, y: 12, 'text-anchor': 'middle'}, columnLabel),
          svg('text', {x: 12, y: middle, 'text-anchor': 'middle', transform: `rotate(-90 12 ${middle})`}, rowLabel));
      return [height, parts];
    });
  };
})();
