"""These tests do what mongofiles does: GridFS on a database and on a branch."""
import hashlib
import io
import random
import re

import gridfs
import pytest
from bson import ObjectId
from gridfs.errors import CorruptGridFile

from tests.tools.conversations import connect


@pytest.fixture(params=["", "@dev"])
def database(request, client, name):
    if request.param:
        client[name].c.insert_one({})
        client[name].command("createBranch", "dev")
    connect(client)
    return client[f"{name}{request.param}"]


def put(bucket, name, content, **options):
    """`mongofiles put`; --replace takes away what has the name."""
    if options.pop("replace", False):
        for one in bucket.find({"filename": name}):
            bucket.delete(one._id)
    identifier = options.pop("identifier", None) or ObjectId()
    bucket.upload_from_stream_with_id(identifier, name, io.BytesIO(content), **options)
    return identifier


def listed(bucket, query):
    return sorted((one.filename, one.length) for one in bucket.find(query))


def test_files_are_put_listed_found_read_and_deleted(database):
    bucket = gridfs.GridFSBucket(database, bucket_name="fs")
    random.seed(7)
    large = random.randbytes(3 * 1024 * 1024 + 17)  # 13 chunks, the last one short
    contents = {"large.bin": large, "empty": b"", "имя 🐈.txt": "текст".encode(), "large.txt": b"text " * 1000, "a.b[1].txt": b"x"}
    ids = {name: put(bucket, name, content, metadata={"contentType": "x/y"}) for name, content in contents.items()}
    assert listed(bucket, {}) == sorted((name, len(content)) for name, content in contents.items())
    assert [one for one, _ in listed(bucket, {"filename": {"$regex": "^" + re.escape("large")}})] == ["large.bin", "large.txt"]
    assert [one for one, _ in listed(bucket, {"filename": {"$regex": "^" + re.escape("a.b[1]")}})] == ["a.b[1].txt"]
    assert [one for one, _ in listed(bucket, {"filename": {"$regex": "🐈"}})] == ["имя 🐈.txt"]
    for name, content in contents.items():
        out = io.BytesIO()
        bucket.download_to_stream(ids[name], out)
        assert hashlib.sha256(out.getvalue()).digest() == hashlib.sha256(content).digest()
    assert database.fs.chunks.count_documents({"files_id": ids["large.bin"]}) == 13
    assert {one["name"] for one in database.fs.chunks.list_indexes()} == {"_id_", "files_id_1_n_1"}
    assert {one["name"] for one in database.fs.files.list_indexes()} == {"_id_", "filename_1_uploadDate_1"}
    again = put(bucket, "large.txt", b"new", replace=True, identifier={"own": "id"})
    assert bucket.open_download_stream(again).read() == b"new" and listed(bucket, {"filename": "large.txt"}) == [("large.txt", 3)]
    for name in contents:
        for one in bucket.find({"filename": name}):
            bucket.delete(one._id)
    assert listed(bucket, {}) == [] and database.fs.chunks.estimated_document_count() == 0


def test_a_missing_file_and_a_damaged_one_are_errors(database):
    bucket = gridfs.GridFSBucket(database, bucket_name="other")
    with pytest.raises(gridfs.NoFile):
        bucket.open_download_stream(ObjectId())
    identifier = put(bucket, "f", bytes(600000), chunk_size_bytes=262144)
    database.other.chunks.delete_one({"files_id": identifier, "n": 1})
    with pytest.raises(CorruptGridFile):
        bucket.open_download_stream(identifier).read()
