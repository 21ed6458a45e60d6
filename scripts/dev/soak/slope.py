"""The slope of samples over time, and its uncertainty."""
import statistics

BLOCKS = 12


def least_squares(points):
    """Slope and its standard error."""
    times, values = zip(*points)
    middle, mean = statistics.fmean(times), statistics.fmean(values)
    spread = sum((time - middle) ** 2 for time in times)
    slope = sum((time - middle) * (value - mean) for time, value in points) / spread
    rest = sum((value - mean - slope * (time - middle)) ** 2 for time, value in points)
    return slope, (rest / max(1, len(points) - 2) / spread) ** 0.5


def slope_and_floor(points):
    """The slope over all points, and its noise floor: twice the standard error of the slope over the means of blocks.

    Consecutive samples are correlated, so that the standard error over the samples would be too small.
    """
    slope, _ = least_squares(points)
    size = max(1, len(points) // BLOCKS)
    blocks = [points[i:i + size] for i in range(0, len(points) - size + 1, size)]
    means = [tuple(statistics.fmean(column) for column in zip(*block)) for block in blocks]
    return slope, 2 * least_squares(means)[1] if len(means) > 2 else float('inf')
