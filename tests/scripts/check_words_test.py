"""scripts/dev/check_words.py finds the house words that are present, and nothing else."""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / 'scripts/dev/check_words.py'
PLANTED = '''// The layer tells its caller what it read.
// A word too many, and whoever reads it must look.
/* Reads the file again; what stands behind it
   is no list. */
constexpr int kMostThings = 3;
const char* text = "the strangers' file gives nothing";
struct HeldUp {};
int f() { return x / 2; }  // as was foretold
'''
FOUND = [(1, 'tells'), (2, 'A word too'), (2, 'whoever'), (3, 'stands'), (3, 'behind'), (4, 'is no '),
         (5, 'kMostThings'), (6, "strangers"), (6, 'gives'), (7, 'HeldUp'), (8, 'foretold')]


def listed(path):
    text = subprocess.run([sys.executable, str(SCRIPT), str(path)], stdout=subprocess.PIPE,
                          universal_newlines=True).stdout
    return [(int(line.split(':')[1]), line.split('"')[1]) for line in text.splitlines()]


def test_finds_what_was_planted(tmp_path):
    (tmp_path / 'planted.cc').write_text(PLANTED)
    assert [(line, word.strip()) for line, word in listed(tmp_path / 'planted.cc')] == [
        (line, word.strip()) for line, word in FOUND]


def test_finds_words_in_pages_and_scripts(tmp_path):
    (tmp_path / 'page.md').write_text('It is told beside the page.\n')
    (tmp_path / 'code.py').write_text('told = 1  # told\nprint("wanted")\n')
    (tmp_path / 'code.sh').write_text('told=1  # told\n')
    assert [word for _, word in listed(tmp_path / 'page.md')] == ['told', 'beside']
    assert listed(tmp_path / 'code.py') == [(1, 'told'), (2, 'wanted')]
    assert listed(tmp_path / 'code.sh') == [(1, 'told')]


def test_finds_words_in_other_languages(tmp_path):
    (tmp_path / 'schema.proto').write_text('message M {}  // is no net\n')
    (tmp_path / 'page.js').write_text('// gives a table\n')
    (tmp_path / 'commands.test').write_text('# what was wanted\n2> wanted: quoted from the program\n')
    assert listed(tmp_path / 'schema.proto') == [(1, 'is no')]
    assert listed(tmp_path / 'page.js') == [(1, 'gives')]
    assert listed(tmp_path / 'commands.test') == [(1, 'wanted')]


def test_leaves_names_and_code_alone(tmp_path):
    (tmp_path / 'clean.cc').write_text('int tell = 1, beside = 2, become = 3;  // all are counts\n')
    assert listed(tmp_path / 'clean.cc') == []


def test_tree_has_none():
    done = subprocess.run([sys.executable, str(SCRIPT)], stdout=subprocess.PIPE, universal_newlines=True)
    assert done.returncode == 0, done.stdout
