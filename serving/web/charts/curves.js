// Smoothing, ranges and decimation of curves.
'use strict';

Charts.curves = (() => {
  /** Exponential smoothing with decay `share`, with bias correction for the first values. */
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

  /** The index of the first point at or after x; points are sorted by x. */
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

  /** The points in [low, high] and one neighbour on each side, so that lines reach the edge. */
  function within(points, low, high) {
    return points.slice(Math.max(0, lowerBound(points, low) - 1), lowerBound(points, high) + 2);
  }

  /** The minimum and maximum of the finite values that `pick` returns, or null. */
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

  /** The range with a margin; never empty. */
  function padded([low, high], log) {
    if (log) return low < high ? [low / (high / low) ** 0.04, high * (high / low) ** 0.04] : [low / 2, high * 2];
    const margin = (high - low) * 0.04 || Math.abs(high) * 0.1 || 1;
    return [low - margin, high + margin];
  }

  /** The path of a curve. Each column of pixels keeps its first, minimum, maximum and last point. */
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
    return text.replace(/(M[^ML]+)(?=M|$)/g, '$1h.01');  // a single point is a dot
  }

  return {smooth, lowerBound, within, range, padded, path};
})();
