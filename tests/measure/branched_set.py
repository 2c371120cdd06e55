"""Measures what branches cost on a lone server, in a set of one member and in one of three, and prints figures. It is no test.

    python -m tests.measure.branched_set [--documents 5000] [--rounds 5]

from the root of the checkout, with what tests/requirements.txt names; PALIMPSEST_BIN is the folder of palimpsestd. On a branch every
document of about 1 KB gets another number, and is merged into main, which has changed other documents. CPU time is that of all threads of a
process, client's time not counted; bytes are of the set's log, as proposed, for each changed document.
"""
import argparse
import os
import random
import statistics
import time

from tests.support.palimpsest import Server
from tests.support.replica_set import ReplicaSet


def cpu_ms(server):
    fields = open(f"/proc/{server.process.pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


class Run:
    """One deployment: `servers` are its processes, the first takes the writes."""

    def __init__(self, name, servers, client, wait):
        self.name, self.servers, self.client, self.wait = name, servers, client, wait
        self.figures = {}

    def logged(self):
        return self.client.admin.command("serverStatus").get("forwardLog", {}).get("sentBytes", 0)

    def step(self, what, documents, work):
        self.wait()
        cpu, logged = [cpu_ms(server) for server in self.servers], self.logged()
        began = time.monotonic()
        work()
        wall = (time.monotonic() - began) * 1000
        self.wait()
        spent = [cpu_ms(server) - before for server, before in zip(self.servers, cpu)]
        figures = self.figures.setdefault(what, [])
        figures.append((wall, spent[0], max(spent[1:], default=0), (self.logged() - logged) / documents))

    def round(self, number, documents):
        main, dev = self.client.shop, self.client["shop@dev"]
        self.step("update, $inc of one number", documents, lambda: dev.c.update_many({"half": 0}, {"$inc": {"n": 1}}))
        self.step("commit", documents, lambda: dev.command("commit", 1))
        main.c.update_many({"half": 1}, {"$set": {"round": number}})
        main.command("commit", 1)
        self.step("merge", documents, lambda: main.command("merge", "dev"))
        own = random.Random(number)
        self.step("insert", documents, lambda: dev.c.insert_many([{"_id": f"{number} {i}", "text": own.randbytes(1000)} for i in range(documents)]))
        dev.command("commit", 1)
        self.step("merge of the inserts", documents, lambda: main.command("merge", "dev"))

    def show(self):
        for what, figures in self.figures.items():
            wall, cpu, others, logged = (statistics.median(column) for column in zip(*figures))
            print(f"{self.name:12} {what:28} {wall:8.0f} ms  {cpu:8.0f} ms CPU  {others:8.0f} ms CPU of another  {logged:8.0f} B")


def measure(name, servers, client, wait, documents, rounds):
    run = Run(name, servers, client, wait)
    own = random.Random(1)
    client.shop.c.insert_many([{"_id": i, "half": i % 2, "n": 0, "text": own.randbytes(970)} for i in range(2 * documents)])
    client.shop.command("createBranch", "dev")
    client["shop@dev"].command("commit", 1)
    for number in range(rounds):
        run.round(number, documents)
    run.show()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}; medians of {given.rounds} rounds of {given.documents} documents")
    with Server() as server, server.client() as client:
        measure("standalone", [server], client, lambda: None, given.documents, given.rounds)
    for count in (1, 3):
        with ReplicaSet(count) as members:
            primary = members.primary()
            others = [member for member in members.members if member is not primary]
            measure(f"set of {count}", [primary, *others], members.client(), members.wait_same_place, given.documents, given.rounds)
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
