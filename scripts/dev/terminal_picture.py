"""Runs commands in a terminal of its own and draws what it shows as SVG."""
import fcntl, os, pty, re, struct, subprocess, termios
from xml.sax.saxutils import escape

COLUMNS, CELL, LINE, PAD, TOP = 96, 8.43, 19, 18, 34
COLOURS = {31: '#ff7b72', 32: '#7ee787', 33: '#e3b341', 35: '#d2a8ff', 36: '#79c0ff'}
STYLE = ('text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#e6edf3;'
         'white-space:pre}.b{font-weight:bold}.prompt{fill:#7d8590}'
         + ''.join('.c%d{fill:%s}' % pair for pair in COLOURS.items()))
ESCAPE = re.compile(r'\033\[([\d;?]*)([A-Za-z])')


def open_terminal():
    """(the side that reads, the program's side) of a terminal of COLUMNS columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack('HHHH', 50, COLUMNS, 0, 0))
    return ours, theirs


def start(words, folder, programs):
    """Starts a command in `folder` with `programs` first in PATH. Returns (process, descriptor of its output)."""
    environment = {**os.environ, 'PATH': '%s:%s' % (programs, os.environ['PATH']), 'TERM': 'xterm-256color',
                   'LC_ALL': 'C.UTF-8'}
    for name in 'NO_COLOR', 'COLUMNS': environment.pop(name, None)
    ours, theirs = open_terminal()
    process = subprocess.Popen(words, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    return process, ours


def read_all(process, descriptor):
    """The command's whole output; blocks until it exits."""
    parts = []
    try:
        while part := os.read(descriptor, 65536): parts.append(part)
    except OSError: pass  # Linux reports the end of a terminal as an error
    process.wait()
    os.close(descriptor)
    return b''.join(parts).decode()


def screen(output):
    """Rows of (character, style) pairs, as a terminal has them after this output; rows may be empty."""
    rows, column, style, at = [[]], 0, '', 0
    while at < len(output):
        sequence = ESCAPE.match(output, at)
        if sequence:
            at = sequence.end()
            if sequence[2] in 'JK': del rows[-1][column:]  # the cursor is always in the last row
            if sequence[2] == 'm':
                codes = [int(code or 0) for code in sequence[1].split(';')]
                style = '' if codes == [0] else ' '.join('b' if code == 1 else 'c%d' % code for code in codes)
            continue
        character, at = output[at], at + 1
        if character == '\n': rows.append([])
        if character in '\r\n': column = 0
        else:
            if column == COLUMNS:
                rows.append([])
                column = 0
            rows[-1][column:column + 1] = [(character, style)]
            column += 1
    while rows and not rows[-1]: rows.pop()
    return rows


def prompt(command): return [('$', 'prompt'), (' ', '')] + [(character, 'b') for character in command]


def runs(row):
    """[(first column, text, style)] of a row, without blank runs."""
    found = []
    for column, (character, style) in enumerate(row):
        if found and found[-1][2] == style: found[-1][1] += character
        else: found.append([column, character, style])
    return [one for one in found if one[1].strip()]


def draw(rows, title):
    """The SVG of a window with these rows."""
    width, height = COLUMNS * CELL + 2 * PAD, TOP + len(rows) * LINE + PAD
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img">'
             % (width, height, width, height), '<title>%s</title><style>%s</style>' % (escape(title), STYLE),
             '<rect width="100%" height="100%" rx="8" fill="#0d1117"/>']
    parts += ['<circle cx="%d" cy="17" r="5.5" fill="%s"/>' % (20 + 18 * i, colour)
              for i, colour in enumerate(('#ff5f57', '#febc2e', '#28c840'))]
    for i, row in enumerate(rows):
        for column, text, style in runs(row):
            text = text.rstrip()
            parts.append('<text x="%.1f" y="%d" textLength="%.1f"%s>%s</text>' % (
                PAD + column * CELL, TOP + (i + 1) * LINE - 3, len(text) * CELL,
                ' class="%s"' % style if style else '', escape(text)))
    return '\n'.join(parts + ['</svg>']) + '\n'
