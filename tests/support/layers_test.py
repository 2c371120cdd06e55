"""tools/layers must catch what it is there to catch."""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def run(files, readmes):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            if readmes:
                (path.parent / "README.md").write_text("")
        done = subprocess.run([sys.executable, ROOT / "tools" / "layers", folder], capture_output=True, text=True)
        return done.returncode, done.stdout


def expect(found, fault, files, readmes=True):
    code, output = run(files, readmes)
    assert (code != 0) == found and (fault in output), (files, code, output)


expect(False, "0 faults", {"base/a.h": "", "bson/b.h": '#include "base/a.h"\n'})
expect(True, "base may not include bson", {"base/a.h": '#include "bson/b.h"\n', "bson/b.h": ""})
expect(True, "dedup may not include bson", {"dedup/a.h": '#include "bson/b.h"\n', "bson/b.h": ""})
expect(True, "replication may not include versions", {"replication/a.h": '#include "versions/b.h"\n', "versions/b.h": ""})
expect(True, "belongs to bench, storage", {"server/a.cpp": "#include <wiredtiger.h>\n"})
expect(True, "circle: base/a.h -> base/b.h -> base/a.h", {"base/a.h": '#include "base/b.h"\n', "base/b.h": '#include "base/a.h"\n'})
expect(True, "not written from the root", {"base/a.h": '#include "b.h"\n', "base/b.h": ""})
expect(True, "0 files", {})

# Folders inside folders: no circle goes through one, in headers or in .cpp files.
expect(True, "circle in base: inner/ -> outer -> inner/", {
    "base/outer.h": '#include "base/inner/a.h"\n', "base/inner/a.h": "", "base/inner/b.cpp": '#include "base/outer.h"\n'})
expect(True, "circle in base: one/ -> two/ -> one/", {
    "base/one/a.h": "", "base/one/b.cpp": '#include "base/two/a.h"\n',
    "base/two/a.h": "", "base/two/b.cpp": '#include "base/one/a.h"\n'})
expect(True, "circle in base/deep: one/ -> two/ -> one/", {
    "base/deep/one/a.h": "", "base/deep/one/b.cpp": '#include "base/deep/two/a.h"\n',
    "base/deep/two/a.h": "", "base/deep/two/b.cpp": '#include "base/deep/one/a.h"\n'})
expect(False, "0 faults", {
    "base/outer.h": "", "base/outer.cpp": '#include "base/outer.h"\n#include "base/inner/a.h"\n', "base/inner/a.h": ""})
# Files of one folder may need each other.
expect(False, "0 faults", {
    "base/a.h": "", "base/a.cpp": '#include "base/b.h"\n', "base/b.h": "", "base/b.cpp": '#include "base/a.h"\n'})
# Tests may look anywhere that their top folder may.
for test in ["a_test.cpp", "a_bench.cpp", "a_fuzz.cpp", "test_support.h", "testing/a.cpp"]:
    expect(False, "0 faults", {"base/outer.h": '#include "base/inner/a.h"\n', "base/inner/a.h": "",
                               f"base/inner/{test}": '#include "base/outer.h"\n'})
expect(True, "base may not include bson", {"base/testing/a.cpp": '#include "bson/b.h"\n', "bson/b.h": ""})

# Floors: the order is declared, whether there is a circle or not.
expect(True, "server: core may not include query", {"server/core/a.cpp": '#include "server/query/b.h"\n', "server/query/b.h": ""})
expect(False, "0 faults", {"server/query/a.cpp": '#include "server/core/b.h"\n', "server/core/b.h": ""})
expect(True, "server: core may not include new_part", {"server/core/a.cpp": '#include "server/new_part.h"\n', "server/new_part.h": ""})
expect(True, "storage: engine may not include contents", {
    "storage/engine/a.cpp": '#include "storage/contents/b.h"\n', "storage/contents/b.h": ""})
expect(False, "0 faults", {"storage/contents/a.cpp": '#include "storage/engine/b.h"\n', "storage/engine/b.h": ""})

# The server's folders are given a clock; those that may read the machine's are listed, as long as they do.
for reads in ["std::chrono::steady_clock::now()", "Clock::now()", "base::system_clock().wall_ms()", "::clock_gettime(CLOCK_REALTIME, &now)",
              "time(nullptr)"]:
    for folder in ["base", "dedup", "storage/engine", "replication", "versions", "server/core"]:
        expect(True, f"{folder}/a.cpp:2: reads the machine's clock", {f"{folder}/a.cpp": f"\nauto now = {reads};\n"})
    for name in ["server/core/a_test.cpp", "server/core/a_bench.cpp", "server/core/test_support.h", "base/testing.h",
                 "storage/testing/a.cpp", "datasets/a.cpp", "bench/a.cpp", "tests/a.cpp", "base/log.cpp"]:
        expect(False, "0 faults", {name: f"auto now = {reads};\n"})
expect(False, "0 faults", {"server/core/a.cpp": "auto now = base::now(clock_);  // steady_clock::now() would not do\n"})
expect(True, "base/log.cpp: reads no clock of the machine any more", {"base/log.cpp": "auto now = base::now(clock_);\n"})

# Families of commands see what is shared, and nothing of each other.
expect(True, "server/commands: crud may not include catalog", {
    "server/commands/crud/a.cpp": '#include "server/commands/catalog/b.h"\n', "server/commands/catalog/b.h": ""})
expect(True, "server/commands: crud may not include all", {
    "server/commands/crud/a.cpp": '#include "server/commands/all.h"\n', "server/commands/all.h": ""})
expect(True, "server/commands: shared may not include crud", {
    "server/commands/shared/a.cpp": '#include "server/commands/crud/b.h"\n', "server/commands/crud/b.h": ""})
expect(False, "0 faults", {
    "server/commands/crud/a.cpp": '#include "server/commands/shared/b.h"\n', "server/commands/shared/b.h": ""})

# Folders of sources have a README, of their own or of a folder above that speaks for them.
expect(True, "base has no README.md", {"base/a.h": ""}, readmes=False)
expect(True, "base/inner has no README.md", {"base/README.md": "", "base/a.h": "", "base/inner/a.h": ""}, readmes=False)
expect(True, "scripts has no README.md", {"base/README.md": "", "base/a.h": "", "scripts/run": ""}, readmes=False)
expect(True, "tests/fuzz has no README.md", {"tests/README.md": "", "tests/fuzz/libfuzzer.cc": ""}, readmes=False)
expect(False, "0 faults", {"base/README.md": "", "base/a.h": "", "base/inner/deeper/README.md": "", "base/inner/deeper/a.h": ""}, readmes=False)
expect(False, "0 faults", {"tests/fuzz/README.md": "", "tests/fuzz/libfuzzer.cc": "", "tests/fuzz/corpus/entry/seed-1": ""}, readmes=False)
expect(False, "0 faults", {"base/README.md": "", "base/a.h": "", "base/__pycache__/a.py": "", "build/a.cpp": "", "base/.cache/a.py": ""}, readmes=False)
