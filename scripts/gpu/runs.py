"""What the parts of a check run: commands under limits of time, and the table that their results are rows of."""
import os
import pathlib
import signal
import subprocess
import tempfile
import time

HEAD = '| stage | part | what | result | told | time | next |\n|---|---|---|---|---|---|---|'


class Check:
    """Rows of the table, each written as soon as it is known, and the whole output in a log."""

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
        """[(exit code, 'timeout' or 'no time left', output)] of commands that run side by side, [(words, more
        variables)]; all that they started ends with the step."""
        if self.left() <= 0:
            return [('no time left', '')] * len(commands)
        started = [Process(words, dict(os.environ, **env, **more)) for words, more in commands]
        return [process.end(self.left()) for process in started]

    def output(self, words, cwd=None, **env):
        if self.left() <= 0:
            return 'no time left', ''
        return Process(words, dict(os.environ, **env), cwd).end(self.left())

    def run(self, part, name, words, told=lambda text: '', excused=lambda text: '', cwd=None, **env):
        """A command as a row. `excused` tells why a failure is none of ours, or ''."""
        begin = time.monotonic()
        code, text = self.output(words, cwd, **env)
        self.log(part, name, text)
        excuse = excused(text) if code not in (0, 'timeout', 'no time left') else ''
        says = code if code == 'no time left' else excuse or (told(text) if code == 0 else fault_of(text, told))
        self.add(part, name, 'not run' if excuse else state_of(code), says, begin)
        return code, text

    def add(self, part, name, state, told, begin, hint=''):
        if state.startswith('FAILED'):
            hint = hint or self.options.hints.get(part, '')
        row = [str(self.stage), part, name, state, told, '%.0f s' % (time.monotonic() - begin), hint]
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
        """(exit code or 'timeout', output); what is left of its session is killed."""
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


def fault_of(text, told):
    """What a command said that failed: as otherwise where it came so far."""
    try:
        return told(text)
    except Exception:
        return last_line(text)


def last_line(text):
    return text.strip().splitlines()[-1][:200] if text.strip() else ''
