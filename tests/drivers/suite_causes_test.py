"""tests/drivers/suites finds the cause of a driver's failed or skipped test, and counts a test as failed if any part of it failed."""
import json

import pytest

from tests.drivers.suites import pymongo_suite
from tests.drivers.suites.causes import cause_of_failure, cause_of_skip


@pytest.mark.parametrize("test, text, cause", [
    ("test_transactions.py::test_commit", "", "other"),
    ("test_transactions.py::test_watch", "E  OperationFailure: $changeStream is not supported", "change streams"),
    ("test_x.py::test_y", "E  OperationFailure: views are not supported", "views"),
    ("test_x.py::test_y", "    collation = Collation('en')\nE  AssertionError: 1 != 2", "collation"),
    ("test_x.py::test_y", "    coll.find({'$where': delay(1)})\nE  views are not supported", "views"),
    ("test_x.py::test_y", "    coll.find({'$where': delay(1)})\nE  AssertionError: 10 != 0", "server-side JavaScript"),
    ("test_client.py::test_list", "E  AssertionError: 1 != 0", "other"),
    ("test_x.py::test_y", "", "other"),
])
def test_a_failure_has_a_cause(test, text, cause):
    assert cause_of_failure(test, text) == cause


@pytest.mark.parametrize("reason, cause", [
    ("Skipped: Authentication is not enabled on the server", "authentication and TLS"),
    ("Skipped: Must be connected to a mongos", "another kind of server"),
    ("Skipped: Server version must be at most 4.2", "another version of the server"),
    ("Skipped: because", "other"),
])
def test_a_skip_has_a_cause(reason, cause):
    assert cause_of_skip(reason) == cause


def test_a_failed_clean_up_is_a_failure_and_what_is_listed_is_read(tmp_path, monkeypatch):
    outcomes = tmp_path / "outcomes.jsonl"
    lines = [{"test": "a", "outcome": "passed", "text": ""}, {"test": "a", "outcome": "failed", "text": "E  views are not supported"},
             {"test": "b", "outcome": "failed", "text": ""}, {"test": "b", "outcome": "passed", "text": ""}, {"test": "c", "outcome": "skipped", "text": ""}]
    outcomes.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = pymongo_suite.read_outcomes(outcomes)
    assert {test: one["outcome"] for test, one in found.items()} == {"a": "failed", "b": "failed", "c": "skipped"}
    assert pymongo_suite.read_outcomes(tmp_path / "none") == {}
    listed = tmp_path / "listed.json"
    monkeypatch.setattr(pymongo_suite, "LISTED", listed)
    assert pymongo_suite.listed_failures() == {}
    listed.write_text(json.dumps({"causes": [{"cause": "views", "failed": 3, "what": ""}, {"cause": "other", "failed": 12, "what": "text"}]}))
    assert pymongo_suite.listed_failures() == {"views": 3, "other": 12}
