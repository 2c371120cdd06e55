"""Members that talk by TLS alone: they elect, replicate, fail over and copy, and a stranger isn't let in."""
import pymongo
import pytest

from tests.support.certificates import Authority
from tests.support.replica_set import Member, ReplicaSet
from tests.support.waiting import DEADLINE, wait_until


@pytest.fixture(scope="module")
def ca(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def by_tls(ca, monkeypatch):
    """Direct clients of members use TLS, too."""
    client = ca.issue("client")
    how = {"tls": True, "tlsCAFile": str(ca.file), "tlsCertificateKeyFile": str(client)}
    monkeypatch.setattr(Member, "tls", how)
    return how


def arguments(ca):
    return ["--tlsMode", "requireTLS", "--tlsCertificateKeyFile", str(ca.issue("member")), "--tlsCAFile", str(ca.file)]


def test_three_members_fail_over_and_a_fourth_copies(ca, by_tls):
    with ReplicaSet(3, *arguments(ca), "--tlsClusterFile", str(ca.issue("cluster"))) as running:
        client = running.client(**by_tls)
        items = client.t.get_collection("items", write_concern=pymongo.WriteConcern("majority", wtimeout=DEADLINE * 1000))
        items.insert_many([{"_id": i, "text": "x" * 2000} for i in range(500)])
        running.primary().kill()
        wait_until(lambda: [one for one in running.members if one.running() and one.state() == "PRIMARY"], "nobody leads")
        assert items.count_documents({}) == 500
        items.insert_one({"_id": "after"})
        for member in running.members:
            if not member.running():
                member.start()
        running.wait_settled()
        fourth = running.join()
        wait_until(lambda: fourth.direct.t.items.count_documents({}) == 501, "the copy is not complete")


@pytest.mark.parametrize("case, why", [("another authority's", "certificate verify failed"), ("another host's", "IP address mismatch")])
def test_a_member_with_a_wrong_certificate_is_not_let_in(ca, by_tls, tmp_path, case, why):
    issuer = Authority(tmp_path, "other") if case == "another authority's" else ca
    certificate = issuer.issue("wrong", names="DNS:elsewhere" if issuer is ca else "IP:127.0.0.1")
    with ReplicaSet(1, *arguments(ca)) as running:
        stranger = Member("--tlsMode", "requireTLS", "--tlsCertificateKeyFile", str(certificate), "--tlsCAFile", str(issuer.file))
        try:
            stranger.start()
            with pytest.raises(pymongo.errors.OperationFailure) as failure:
                running.reconfigure(lambda config: config["members"].append({"_id": 1, "host": stranger.name}))
            assert why in str(failure.value)
        finally:
            stranger.close()
