"""Runs the commands of a check under time limits, and keeps the table of their results."""
import os
import pathlib
import signal
import subprocess
import tempfile
import time

HEAD = '| stage | part | what | result | details | time | next |\n|---|---|---|---|---|---|---|'


class Check:
    """The table, which is written after each row, and the log of all output."""

    def __init__(self, options):
        self.options, self.rows, self.name = options, [], ''
        self.last = time.monotonic() + options.limit
        self.stage, self.stage_end, self.step_end = 0, self.last, self.last

    def begin_stage(self, number, seconds):
        self.stage, self.stage_end = number, min(self.last, time.monotonic() + seconds)

    def begin_step(self, seconds):
        self.step_end = min(self.stage_end, time.monotonic() + seconds)

    def left(self):
        return self.step_end - time.monotonic()

    def outputs(self, commands, **env):
        """Runs `commands`, [(words, environment variables)], in parallel, until the step's end at most. Returns
        [(status, output)]; the status is an exit code, 'timeout' or 'no time left'."""
        if self.left() <= 0:
            return [('no time left', '')] * len(commands)
        started = [Process(words, dict(os.environ, **env, **more)) for words, more in commands]
        return [process.end(self.left()) for process in started]

    def output(self, words, cwd=None, **env):
        if self.left() <= 0:
            return 'no time left', ''
        return Process(words, dict(os.environ, **env), cwd).end(self.left())

    def run(self, part, name, words, details=lambda text: '', excused=lambda text: '', cwd=None, **env):
        """Runs a command and adds its row. `details` extracts the row's text from the output. `excused` returns why a
        failure is not Cortado's, or ''."""
        begin = time.monotonic()
        code, text = self.output(words, cwd, **env)
        self.log(part, name, text)
        excuse = excused(text) if code not in (0, 'timeout', 'no time left') else ''
        shown = code if code == 'no time left' else excuse or (details(text) if code == 0 else fault_of(text, details))
        self.add(part, name, 'not run' if excuse else state_of(code), shown, begin)
        return code, text

    def add(self, part, name, state, details, begin, hint=''):
        if state.startswith('FAILED'):
            hint = hint or self.options.hints.get(part, '')
        row = [str(self.stage), part, name, state, details, '%.0f s' % (time.monotonic() - begin), hint]
        self.rows.append([cell.replace('|', '/').replace('\n', ' ') for cell in row])
        print('%s %-9s %-24s %-16s %s (%s)%s' % (*row[:6], '; next: ' + hint if hint else ''), flush=True)
        if self.options.out:
            pathlib.Path(self.options.out).write_text(self.markdown())

    def log(self, part, name, text):
        if self.options.log:
            with open(self.options.log, 'a') as file:
                file.write('=== %s %s\n%s\n' % (part, name, text))

    def failed(self):
        return [row for row in self.rows if row[3].startswith('FAILED')]

    def markdown(self):
        lines = ['### %s, %s' % (self.name, time.strftime('%Y-%m-%d')), '', HEAD]
        return '\n'.join(lines + ['| ' + ' | '.join(row) + ' |' for row in self.rows]) + '\n'


class Process:
    def __init__(self, words, env, cwd=None):
        self.kept = tempfile.TemporaryFile()
        self.process = subprocess.Popen([str(word) for word in words], stdout=self.kept, stderr=subprocess.STDOUT,
                                        stdin=subprocess.DEVNULL, start_new_session=True, cwd=cwd, env=env)

    def end(self, seconds):
        """(exit code or 'timeout', output). Kills all processes of its session."""
        try:
            code = self.process.wait(max(0, seconds))
        except subprocess.TimeoutExpired:
            code = 'timeout'
        finally:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.process.wait()
        self.kept.seek(0)
        text = self.kept.read().decode(errors='replace')
        self.kept.close()
        return code, text


def state_of(code):
    return 'not run' if code == 'no time left' else 'ok' if code == 0 else 'FAILED (%s)' % code


def fault_of(text, details):
    """The details of a failed command, or the last line of its output if it has none."""
    try:
        return details(text)
    except Exception:
        return last_line(text)


def last_line(text):
    return text.strip().splitlines()[-1][:200] if text.strip() else ''
