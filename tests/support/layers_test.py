"""tools/layers must catch what it is there to catch."""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def run(files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([sys.executable, ROOT / "tools" / "layers", folder], capture_output=True, text=True)
        return done.returncode, done.stdout


def expect(found, fault, files):
    code, output = run(files)
    assert (code != 0) == found and (fault in output), (files, code, output)


expect(False, "0 faults", {"base/a.h": "", "bson/b.h": '#include "base/a.h"\n'})
expect(True, "base may not include bson", {"base/a.h": '#include "bson/b.h"\n', "bson/b.h": ""})
expect(True, "dedup may not include bson", {"dedup/a.h": '#include "bson/b.h"\n', "bson/b.h": ""})
expect(True, "replication may not include versions", {"replication/a.h": '#include "versions/b.h"\n', "versions/b.h": ""})
expect(True, "belongs to bench, storage", {"server/a.cpp": "#include <wiredtiger.h>\n"})
expect(True, "circle: base/a.h -> base/b.h -> base/a.h", {"base/a.h": '#include "base/b.h"\n', "base/b.h": '#include "base/a.h"\n'})
expect(True, "not written from the root", {"base/a.h": '#include "b.h"\n', "base/b.h": ""})
expect(True, "0 files", {})
