"""`palimpsest replay --report` must report a load that is over in a moment."""
import json
import subprocess

from tests.support.palimpsest import BIN


def test_the_shortest_load_has_curves_that_begin_at_zero(server, tmp_path):
    source = tmp_path / "forum.jsonl"
    source.write_text('{"post_id": 1, "body": "Do you have seeds?", "timestamp": "2020-06-01T08:00:00Z"}\n')
    subprocess.run([str(BIN / "palimpsest"), "replay", str(source), "--uri", server.uri, "--db", "short", "--quiet",
                    "--report", str(tmp_path / "report")], check=True, capture_output=True, timeout=120)
    report = json.loads((tmp_path / "report" / "report.json").read_text())
    samples = report["samples"]
    assert len(samples) >= 2
    assert samples[0]["seconds"] == 0 and samples[0]["documents"] == 0
    assert samples[-1]["seconds"] > 0 and samples[-1]["documents"] == 1
    assert all(sample["residentBytes"] > 0 for sample in samples)
    page = (tmp_path / "report" / "report.html").read_text()
    assert page.count('class="plot"') >= 1
