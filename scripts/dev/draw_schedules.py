#!/usr/bin/python3
"""Draws docs/schedules.svg: the learning rate that `cortado train` logs, for one solver of each kind of schedule.

    draw_schedules.py CORTADO [OUT.svg]

Each curve is read from the log of a training whose loss is constant.
"""
import os, re, subprocess, sys, tempfile

NET = '''layer { name: "data" type: "DummyData" top: "data" dummy_data_param { shape { dim: 1 dim: 1 } } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
  inner_product_param { num_output: 1 bias_term: false } }
layer { name: "loss" type: "Reduction" bottom: "ip" top: "loss" loss_weight: 1 }
'''
SOLVER = ('net: "net.prototxt" base_lr: 1 max_iter: 200 display: 1 random_seed: 1 snapshot_after_train: false '
          'solver_mode: CPU ')
SCHEDULES = [
    ('step', 'lr_policy: "step" gamma: 0.5 stepsize: 50'),
    ('exp', 'lr_policy: "exp" gamma: 0.985'),
    ('inv', 'lr_policy: "inv" gamma: 0.02 power: 0.75'),
    ('multistep, warmup_iter', 'lr_policy: "multistep" gamma: 0.3 stepvalue: 90 stepvalue: 150 warmup_iter: 30'),
    ('poly, min_lr', 'lr_policy: "poly" power: 2 min_lr: 0.1'),
    ('sigmoid', 'lr_policy: "sigmoid" gamma: -0.06 stepsize: 100'),
    ('plateau', 'lr_policy: "plateau" gamma: 0.5 plateau_winsize: 40 plateau_winsize: 60 plateau_winsize: 60'),
    ('multifixed', 'lr_policy: "multifixed" stagelr: 0.4 stageiter: 40 stagelr: 1 stageiter: 120 '
                   'stagelr: 0.2 stageiter: 200'),
    ('cosine, rampup_interval', 'lr_policy: "cosine" rampup_interval: 30'),
    ('cosine, cosine_cycle', 'lr_policy: "cosine" cosine_cycle: 29 cosine_cycle_mult: 2'),
    ('onecycle', 'lr_policy: "onecycle"'),
]
WIDE, HIGH, GAP, COLUMNS = 220, 90, 34, 4


def rates(cortado, options, folder):
    """The learning rate of each iteration, from the log."""
    with open(os.path.join(folder, 'solver.prototxt'), 'w') as file:
        file.write(SOLVER + options)
    done = subprocess.run([cortado, 'train', '--solver=solver.prototxt'], cwd=folder, capture_output=True, text=True,
                          check=True)
    return [float(rate) for rate in re.findall(r'Iteration \d+, lr = (\S+)', done.stderr)]


def panel(k, name, values):
    x, y = k % COLUMNS * (WIDE + GAP) + GAP / 2, k // COLUMNS * (HIGH + GAP) + GAP
    points = ' '.join('%.1f,%.1f' % (x + WIDE * i / (len(values) - 1), y + HIGH * (1 - value))
                      for i, value in enumerate(values))
    return ('<text x="%g" y="%g">%s</text><path d="M%g,%gv%gh%g" stroke="#999" fill="none"/>'
            '<polyline points="%s" stroke="#1565c0" stroke-width="1.5" fill="none"/>'
            % (x, y - 6, name, x, y, HIGH, WIDE, points))


def main():
    cortado = os.path.abspath(sys.argv[1])
    docs = os.path.join(os.path.dirname(__file__), '..', '..', 'docs')
    out = sys.argv[2] if len(sys.argv) > 2 else os.path.join(docs, 'schedules.svg')
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, 'net.prototxt'), 'w') as file:
            file.write(NET)
        panels = [panel(k, name, rates(cortado, options, folder)) for k, (name, options) in enumerate(SCHEDULES)]
    rows = -(-len(SCHEDULES) // COLUMNS)
    with open(out, 'w') as file:
        file.write('<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" '
                   'font-family="sans-serif" font-size="12">\n'
                   '<rect width="100%%" height="100%%" fill="white"/>\n%s\n</svg>\n'
                   % (COLUMNS * (WIDE + GAP), rows * (HIGH + GAP) + GAP / 2, '\n'.join(panels)))


if __name__ == '__main__':
    main()
