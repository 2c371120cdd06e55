"""A test that is skipped must fail, unless that is permitted."""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SKIPS = "import pytest\n\n\n@pytest.fixture\ndef missing():\n    pytest.skip('no such thing here')\n\n\n"


def outcome(folder, text, **environment):
    (folder / "some_test.py").write_text(SKIPS + text)
    without = {name: value for name, value in os.environ.items() if name != "PALIMPSEST_MAY_SKIP"}
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", "-p", "no:cacheprovider", "--rootdir", str(folder), str(folder)],
                          capture_output=True, text=True, cwd=ROOT, env={**without, **environment})
    return done.returncode, done.stdout


def test_a_skipped_test_is_a_failure(tmp_path):
    for text in ("def test_one():\n    pytest.skip('not today')\n", "def test_one(missing):\n    pass\n",
                 "@pytest.mark.skip(reason='never')\ndef test_one():\n    pass\n"):
        code, said = outcome(tmp_path, text)
        assert code == 1 and "A skipped test is a failure" in said, said
        code, said = outcome(tmp_path, text, PALIMPSEST_MAY_SKIP="1")
        assert code == 0 and "1 skipped" in said, said


def test_what_passes_and_what_is_expected_to_fail_does_so(tmp_path):
    code, said = outcome(tmp_path, "def test_one():\n    pass\n\n\n@pytest.mark.xfail\ndef test_two():\n    assert False\n")
    assert code == 0 and "1 passed, 1 xfailed" in said, said


def test_long_runs_are_left_out_of_a_usual_one(tmp_path):
    text = "def test_one():\n    pass\n\n\n@pytest.mark.long_run\ndef test_two():\n    pass\n"
    assert "1 passed, 1 deselected" in outcome(tmp_path, text)[1]
    assert "2 passed" in outcome(tmp_path, text, PALIMPSEST_SETS_SCALE="2")[1]
