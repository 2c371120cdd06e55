"""These tests check what commits prove: getProof through a client, checked by the programs that stand alone, and verify."""
import hashlib
import os
import pathlib
import subprocess
import sys
import uuid

import bson
import pytest

from tests.branches.conftest import fails
from tests.support.palimpsest import Server

ILLEGAL_OPERATION, NAMESPACE_NOT_FOUND, TYPE_MISMATCH = 20, 26, 14
TOOLS = pathlib.Path(__file__).parents[2] / "tools"


@pytest.fixture(scope="session")
def verifiers(tmp_path_factory):
    """Both, made of one file each."""
    program = tmp_path_factory.mktemp("verifier") / "verify_proof"
    subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-o", program, TOOLS / "verify_proof.cpp"], check=True)
    return [[str(program)], [sys.executable, str(TOOLS / "verify_proof.py")]]


def test_what_is_not_hexadecimal_is_no_proof_at_all(verifiers, tmp_path):
    file = tmp_path / "proof"
    file.write_bytes(b"")
    for verifier in verifiers:
        for arguments in (["--commit", "zz"], ["zz", "00"], ["00", "zz"]):
            done = subprocess.run([*verifier, *arguments, file], capture_output=True, text=True)
            assert (done.returncode, done.stdout, done.stderr) == (2, "", "'zz' is not hexadecimal\n"), done


@pytest.fixture
def ask(verifiers, tmp_path):
    """Returns what both programs say of a proof, as {present or absent, collection, _id, document}; nothing if it does not hold. The document is as it was read."""
    def ask(commit, proof):
        file, document = tmp_path / "proof", tmp_path / "document"
        file.write_bytes(proof)
        answers = []
        for verifier in verifiers:
            document.unlink(missing_ok=True)
            done = subprocess.run([*verifier, "--commit", commit, file, document], capture_output=True, text=True)
            assert done.returncode in (0, 1) and not done.stderr, done
            answers.append((done.returncode, done.stdout if done.returncode == 0 else done.stdout[:25], document.read_bytes() if document.exists() else None))
        assert answers[0] == answers[1]
        code, text, content = answers[0]
        if code == 1:
            assert text == "The proof does not hold: "
            return None
        lines = text.splitlines()
        return {"says": lines[0], **dict(line.split(" ", 1) for line in lines[1:])}, content
    return ask


def proof_of(database, id, coll="c"):
    return database.command("getProof", 1, coll=coll, id=id)


def uuid_of(database, name):
    return next(one["info"]["uuid"] for one in database.list_collections() if one["name"] == name)


def test_a_document_is_proven_to_be_in_a_commit_or_not_to_be_to_who_has_its_id_alone(shop, ask):
    main = shop["main"]
    main.c.insert_many([{"_id": i, "text": "some text " * 20} for i in range(300)])
    main.other.insert_many([{"_id": f"o{i}"} for i in range(50)])
    shop.create("dev")
    fails(ILLEGAL_OPERATION, lambda: proof_of(main, 1))  # of the first commit: its id says nothing of documents
    main.c.update_one({"_id": 17}, {"$set": {"seen": True}})
    main.c.delete_one({"_id": 18})
    commit = main.command("commit", 1, message="a word", author="ann")["commit"]
    main.command("createTag", "v1")
    main.c.update_one({"_id": 17}, {"$set": {"seen": False}})
    main.command("commit", 1)
    for ref, id, expected in [("v1", 17, True), (commit[:12], 17, True), ("main~1", 299, True), ("v1", 18, False), ("v1", 300, False), ("v1", "17", False)]:
        said = proof_of(shop[ref], id)
        assert said["commit"] == commit and said["present"] is expected and said["collection"] == "c" and said["_id"] == id
        answer, content = ask(commit, said["proof"])
        assert answer["says"] == ("present" if expected else "absent")
        assert answer["collection"] == bytes(uuid_of(main, "c")).hex()
        assert answer["_id"] == (f'"{id}"' if isinstance(id, str) else str(id))
        if expected:
            assert bson.decode(content) == shop[ref].c.find_one({"_id": id}) and answer["document"].split()[0] == said["hash"] == hashlib.sha256(content).hexdigest()
            assert len(said["proof"]) - len(content) < 3072
        else:
            assert content is None and "hash" not in said and len(said["proof"]) < 3072
    assert ask(commit, proof_of(shop["v1"], "o7", "other")["proof"])[0]["says"] == "present"
    # A branch stands for its last commit, whatever is pending.
    main.c.insert_one({"_id": "new"})
    assert proof_of(main, "new")["present"] is False
    head = main.command("commit", 1)["commit"]
    said = proof_of(main, "new")
    assert said["present"] is True and ask(head, said["proof"])[0]["says"] == "present"
    assert ask(commit, said["proof"]) is None and ask(head, proof_of(shop["v1"], 17)["proof"]) is None
    fails(NAMESPACE_NOT_FOUND, lambda: proof_of(main, 1, "nothing"))
    fails(NAMESPACE_NOT_FOUND, lambda: proof_of(shop["nobody"], 1))
    fails(40414, lambda: main.command("getProof", 1, coll="c"))
    fails(40414, lambda: main.command("getProof", 1, id=1))
    fails(53, lambda: proof_of(main, [1]))
    # A collection that didn't exist yet at the commit has nothing in it.
    main.later.insert_one({"_id": 1})
    said = proof_of(shop["v1"], 1, "later")
    assert said["present"] is False and ask(commit, said["proof"])[0]["says"] == "absent"


def test_a_bit_flipped_anywhere_in_a_proof_is_found(shop, ask):
    main = shop["main"]
    main.c.insert_many([{"_id": i, "n": i} for i in range(40)])
    main.command("commit", 1)
    main.c.insert_one({"_id": 100})
    commit = main.command("commit", 1)["commit"]
    for id in [7, 70]:
        proof = proof_of(main, id)["proof"]
        assert ask(commit, proof)
        for bit in range(0, len(proof) * 8, 1 + len(proof) // 16):
            damaged = bytearray(proof)
            damaged[bit // 8] ^= 1 << bit % 8
            answer = ask(commit, bytes(damaged))
            # The key names the question: another key has another answer, which is as true.
            assert answer is None or answer[0]["_id"] != str(id), bit
        assert ask(commit, proof[:-1]) is None and ask(commit, proof + b"x") is None
        assert ask(commit[:-1] + ("0" if commit[-1] != "0" else "1"), proof) is None


def test_every_kind_of_id_is_printed_as_it_is(shop, ask):
    main = shop["main"]
    ids = [0, -1, 5, 255, 256, -70000, 2**40, -2**62, 1.5, -0.25, "text", "a\0b\1c", 'q"uo\\te', bson.ObjectId(), True, None, uuid.uuid4().bytes]
    main.c.insert_many([{"_id": id} for id in ids])
    main.command("commit", 1)
    main.c.insert_one({"_id": {"a": 1}})
    commit = main.command("commit", 1)["commit"]
    shown = {0: "0", -1: "-1", 2**40: str(2**40), 1.5: "1.5", -0.25: "-0.25", "text": '"text"', "a\0b\1c": '"a\\u0000b\\u0001c"', 'q"uo\\te': '"q\\"uo\\\\te"', None: "null"}
    for id in [*ids, {"a": 1}]:
        answer, content = ask(commit, proof_of(main, id)["proof"])
        assert answer["says"] == "present" and bson.decode(content)["_id"] == id
        if not isinstance(id, (dict, bool)) and id in shown:
            assert answer["_id"] == shown[id]


def test_a_purged_document_is_proven_by_its_hash_alone_and_is_not_in_the_next_commit(shop, ask):
    main = shop["main"]
    main.c.insert_many([{"_id": i} for i in range(20)])
    main.command("commit", 1)
    main.c.insert_one({"_id": "x"})
    commit = main.command("commit", 1)["commit"]
    was = hashlib.sha256(bson.encode({"_id": 7})).hexdigest()
    main.command("purge", "c", id=7)
    said = proof_of(shop[commit], 7)
    assert said["present"] and said["purged"] and said["hash"] == was
    answer, content = ask(commit, said["proof"])
    assert answer["document"] == f"{was} not in the file" and content is None
    verified = shop[commit].command("verify", 1, deep=True)
    assert verified["valid"] and verified["collections"][0]["purged"] == 1 and verified["collections"][0]["documents"] == 20
    main.c.insert_one({"_id": "y"})
    head = main.command("commit", 1)["commit"]
    said = proof_of(main, 7)
    assert said["present"] is False and ask(head, said["proof"])[0]["says"] == "absent"
    verified = main.command("verify", 1, deep=True)
    assert verified["valid"] and verified["collections"][0]["purged"] == 0 and verified["collections"][0]["documents"] == 21


def test_equal_documents_have_equal_roots_on_every_branch_and_after_any_merge(shop):
    main = shop["main"]
    main.c.insert_many([{"_id": i, "a": 0, "b": 0} for i in range(50)])
    shop.create("dev")
    root = lambda ref: shop[ref].command("verify", 1)["collections"][0]["root"]
    for i in range(0, 50, 3):
        main.c.update_one({"_id": i}, {"$set": {"a": 1}})
    for i in range(0, 50, 2):
        shop["dev"].c.update_one({"_id": i}, {"$set": {"b": 1}})
    shop["dev"].c.delete_one({"_id": 49})
    main.command("commit", 1), shop["dev"].command("commit", 1)
    assert root("main") != root("dev")
    shop.create("other", **{"from": "main"})
    main.command("merge", "dev")
    shop["dev"].command("merge", "other")
    assert root("main") == root("dev")
    before = root("main")
    main.c.update_one({"_id": 1}, {"$set": {"a": 5}})
    changed = main.command("commit", 1)["commit"]
    assert root("main") != before
    main.command("revert", changed)
    assert root("main") == before
    for ref in ["main", "dev", "other", "main~1"]:
        assert shop[ref].command("verify", 1, deep=True)["valid"]


def test_a_hash_of_the_database_has_the_roots_of_its_last_commit(shop):
    main = shop["main"]
    main.c.insert_many([{"_id": i} for i in range(20)])
    main.other.insert_one({"_id": 1})
    assert "roots" not in main.command("dbHash", 1)  # no branches
    shop.create("dev")
    first = main.command("dbHash", 1)
    assert first["roots"] == {} and len(first["commit"]) == 64
    for ref in ["main", "dev"]:
        shop[ref].c.insert_one({"_id": "new", "at": ref})
        shop[ref].command("commit", 1)
    one, other = main.command("dbHash", 1), shop["dev"].command("dbHash", 1)
    assert one["roots"]["c"] == main.command("verify", 1)["collections"][0]["root"] != other["roots"]["c"]
    assert one["roots"]["other"] == other["roots"]["other"] and one["md5"] != other["md5"]
    shop["dev"].c.replace_one({"_id": "new"}, {"_id": "new", "at": "main"})
    shop["dev"].command("commit", 1)
    again = shop["dev"].command("dbHash", 1, collections=["c"])
    assert again["roots"] == {"c": one["roots"]["c"]} and again["collections"]["c"] == one["collections"]["c"]


def test_what_verify_says(shop):
    main = shop["main"]
    main.c.insert_many([{"_id": i} for i in range(200)])
    fails(NAMESPACE_NOT_FOUND, lambda: main.command("verify", 1))  # no branches
    shop.create("dev")
    first = main.command("verify", 1, deep=True)
    assert first["valid"] and first["deep"] and first["collections"] == [{"name": "c", "said": False}]
    main.c.insert_one({"_id": 1000})
    commit = main.command("commit", 1)["commit"]
    quick, deep = main.command("verify", 1), main.command("verify", 1, deep=True)
    assert quick["commit"] == deep["commit"] == commit and quick["valid"] and deep["valid"]
    assert quick["collections"][0]["nodes"] == 1 and "documents" not in quick["collections"][0]
    assert deep["collections"][0]["nodes"] > 5 and deep["collections"][0]["documents"] == 201
    assert deep["damage"] == [] and deep["damageCount"] == 0
    fails(TYPE_MISMATCH, lambda: main.command("verify", 1, deep="yes"))


def test_roots_and_proofs_are_there_after_a_restart_and_a_crash(tmp_path, ask):
    with Server(dbpath=tmp_path / "db") as server:
        shop = server.client()["shop"]
        for i in range(30):
            shop.c.insert_many([{"_id": i * 100 + k, "n": i} for k in range(20)])
            commit = shop.command("commit", 1, writeConcern={"w": 1, "j": True})["commit"]
        server.kill()
        server.start()
        client = server.client()
        said = client["shop"].command("getProof", 1, coll="c", id=2907)
        assert said["commit"] == commit and ask(commit, said["proof"])[0]["says"] == "present"
        for ref in ["", "@main~3", "@main~20"]:
            assert client["shop" + ref].command("verify", 1, deep=True)["valid"]
