// The arithmetic of curves: smoothing, ranges, and no more points than a screen has columns.
'use strict';

Charts.curves = (() => {
  /** A running mean that forgets: each value weighs `share` of the one behind it, and the first is not told twice. */
  function smooth(points, share) {
    if (!(share > 0)) return points;
    const keep = Math.min(share, 0.999);
    let sum = 0, weight = 0;
    return points.map(([x, y]) => {
      if (!Number.isFinite(y)) return [x, y];
      sum = keep * sum + (1 - keep) * y;
      weight = keep * weight + (1 - keep);
      return [x, sum / weight];
    });
  }

  /** Where x would stand among points that are sorted by x. */
  function lowerBound(points, x) {
    let first = 0, last = points.length;
    while (first < last) {
      const middle = (first + last) >> 1;
      if (points[middle][0] < x)
        first = middle + 1;
      else
        last = middle;
    }
    return first;
  }

  /** Those within [low, high] and a neighbour on either side, so that lines reach the edge. */
  function within(points, low, high) {
    return points.slice(Math.max(0, lowerBound(points, low) - 1), lowerBound(points, high) + 2);
  }

  /** The least and the most of what `pick` gives, without what is no number; null where nothing is. */
  function range(lists, pick, isGood = Number.isFinite) {
    let low = Infinity, high = -Infinity;
    for (const points of lists) {
      for (const point of points) {
        const value = pick(point);
        if (!isGood(value)) continue;
        if (value < low) low = value;
        if (value > high) high = value;
      }
    }
    return low <= high ? [low, high] : null;
  }

  /** The range with a margin, and never empty. */
  function padded([low, high], log) {
    if (log) return low < high ? [low / (high / low) ** 0.04, high * (high / low) ** 0.04] : [low / 2, high * 2];
    const margin = (high - low) * 0.04 || Math.abs(high) * 0.1 || 1;
    return [low - margin, high + margin];
  }

  /** The path of a curve: of points that share a column of pixels the first, least, greatest and last are drawn. */
  function path(points, atX, atY, log) {
    let text = '', column = [], at = null, pen = 'M';
    const flush = () => {
      const order = column.map(([, y], i) => [y, i]).sort((a, b) => a[0] - b[0]);
      const kept =
          column.length > 4 ? [0, order[0][1], order[order.length - 1][1], column.length - 1] : column.map((_, i) => i);
      for (const i of [...new Set(kept)].sort((a, b) => a - b)) {
        text += `${pen}${column[i][0].toFixed(1)} ${column[i][1].toFixed(1)}`;
        pen = 'L';
      }
      column = [];
    };
    for (const [x, y] of points) {
      const is_drawn = Number.isFinite(y) && (!log || y > 0), pixel = Math.round(atX(x));
      if (pixel !== at || !is_drawn) flush();
      at = pixel;
      if (is_drawn)
        column.push([atX(x), atY(y)]);
      else
        pen = 'M';
    }
    flush();
    return text.replace(/(M[^ML]+)(?=M|$)/g, '$1h.01');  // a point alone is a dot
  }

  return {smooth, lowerBound, within, range, padded, path};
})();
