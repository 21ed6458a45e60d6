// Fills the page of `cortado tune`.
'use strict';

(() => {
  const {main, numbers, table, chart} = Page;
  const {html} = Charts.parts;
  const element = chart({
    title: 'Loss while the rate rises',
    xLabel: 'learning rate',
    yLabel: 'loss',
    log: true,
    xLog: true,
    series: [{name: 'loss of each iteration', points: numbers.losses}, {name: 'smoothed', points: numbers.smoothed}],
    marks: numbers.marks
  });
  main.append(html('p', {}, numbers.result), element, table(['measured', 'value', 'meaning'], numbers.table));
})();
