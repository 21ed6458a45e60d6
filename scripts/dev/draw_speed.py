#!/usr/bin/python3
"""Draws docs/pictures/speed.svg from the training steps in the first table of results in docs/benchmarks.md.

    draw_speed.py            writes the picture
    draw_speed.py --check    fails if the picture differs from the table
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE, PICTURE = ROOT / 'docs/benchmarks.md', ROOT / 'docs/pictures/speed.svg'
HEADING = '| mode | net, batch |'
WIDTH, LEFT, TOP, ROW, BAR = 720, 150, 44, 26, 16
UNIT = 130  # pixels for "as fast as PyTorch"
STYLE = ('text{font:13px system-ui,sans-serif;fill:#24292f}.axis{stroke:#8c959f;stroke-dasharray:3 3}.bar{fill:#2f6f9f}'
         '@media(prefers-color-scheme:dark){text{fill:#e6edf3}.bar{fill:#6cb0e0}}')


def ratios():
    """[(net and batch, speed relative to PyTorch)], the fastest first."""
    lines = PAGE.read_text(encoding='utf-8').split(HEADING, 1)[1].splitlines()[2:]
    rows = []
    for line in lines:
        if not line.startswith('|'):
            break
        mode, name, _, _, ratio = [cell.strip() for cell in line.strip('|').split('|')][:5]
        if mode == 'train':
            rows.append((name, float(re.match(r'[\d.]+', ratio).group())))
    return sorted(rows, key=lambda row: -row[1])


def picture(rows):
    height = TOP + ROW * len(rows) + 14
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img">' % (WIDTH, height),
             '<title>Training: times as fast as PyTorch</title><style>%s</style>' % STYLE,
             '<text x="%d" y="18">Training step: times as fast as PyTorch, two CPU cores</text>' % LEFT]
    for times in range(1, 5):
        x = LEFT + UNIT * times
        parts.append('<line class="axis" x1="%d" x2="%d" y1="28" y2="%d"/>' % (x, x, height - 10))
        parts.append('<text x="%d" y="40" text-anchor="end">%d</text>' % (x - 4, times))
    for i, (name, ratio) in enumerate(rows):
        y = TOP + ROW * i
        parts.append('<text x="%d" y="%d" text-anchor="end">%s</text>' % (LEFT - 8, y + BAR - 3, name))
        parts.append('<rect class="bar" x="%d" y="%d" width="%.0f" height="%d" rx="2"/>' % (
            LEFT, y, UNIT * ratio, BAR))
        parts.append('<text x="%.0f" y="%d">%.1f</text>' % (LEFT + UNIT * ratio + 6, y + BAR - 3, ratio))
    return '\n'.join(parts + ['</svg>']) + '\n'


def main():
    drawn = picture(ratios())
    if '--check' in sys.argv:
        sys.exit(PICTURE.read_text(encoding='utf-8') != drawn and 'draw_speed: the picture is out of date')
    PICTURE.write_text(drawn, encoding='utf-8')


main()
