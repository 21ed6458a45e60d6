// Fills the page of `cortado runs compare`.
'use strict';

(() => {
  const {numbers, points, chart, isLow, addSections, comparison} = Page;
  const {html} = Charts.parts;

  /** The curves of all runs that `pick` returns as {name: points}. */
  const curvesOf = (pick) => numbers.runs.flatMap(
      (run, i) =>
          Object.entries(pick(numbers.curves[i])).map(([name,
                                                        list]) => ({name: `${run}: ${name}`, points: points(list)})));

  const chosen = (curves, isWanted) => Object.fromEntries(Object.entries(curves).filter(([name]) => isWanted(name)));

  function curves() {
    const parts = html('div', {className: 'columns'});
    const add = (title, series) => {
      if (series.some((one) => one.points.length)) parts.append(chart({title, series}));
    };
    add('Training loss', curvesOf(({training}) => training.loss ? {loss: training.loss} : {}));
    add('Test scores', curvesOf((curves) => chosen(curves.tests, (name) => !isLow(curves, name))));
    add('Test loss', curvesOf((curves) => chosen(curves.tests, (name) => isLow(curves, name))));
    add('Learning rate', curvesOf(({training}) => training.rate ? {rate: training.rate} : {}));
    return parts.children.length ? [parts] : [];
  }

  addSections([['Differences', () => comparison(numbers)], ['Curves', curves]]);
})();
