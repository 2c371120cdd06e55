"""Measures how a replica set takes faults, with three members on this machine and clients that write, and prints figures. It is no test.

    python -m tests.measure.replica_set failover [--rounds 7]     from kill -9 of the primary to the first acknowledged write
    python -m tests.measure.replica_set faults [--count 100]      random faults; writes acknowledged and lost, errors, unavailability

from the root of the checkout, with what tests/requirements.txt names; PALIMPSEST_BIN is the folder of palimpsestd.
"""
import argparse
import random
import statistics
import sys
import time

from pymongo.errors import PyMongoError

from tests.support.network import Network, NotPermitted
from tests.support.replica_set import Load, ReplicaSet


def failover(rounds):
    times = []
    with ReplicaSet(3) as three:
        for number in range(rounds):
            primary = three.wait_settled()
            client = three.client()
            client.t.c.insert_one({"_id": f"before {number}"})
            time.sleep(0.5)
            began = time.monotonic()
            primary.kill()
            client.t.c.insert_one({"_id": f"after {number}"})
            times.append(time.monotonic() - began)
            primary.start()
    times.sort()
    print(f"fail-over, kill -9 to the first write acknowledged by a majority, {rounds} times: "
          f"median {statistics.median(times):.2f} s, {times[0]:.2f} to {times[-1]:.2f} s")


def faults(count, seed):
    dice = random.Random(seed)
    network = None
    try:
        network = Network(3).__enter__()
    except NotPermitted as why:
        print(f"without partitions: {why}")
    kinds = ["kill", "kill", "hold", "step", "end", "kill all"] + (["partition", "one way"] if network else [])
    done = dict.fromkeys(kinds, 0)
    try:
        with ReplicaSet(3, hosts=[network.place(i) for i in range(3)] if network else None) as three:
            began = time.monotonic()
            with Load(three, writers=4) as load:
                for number in range(count):
                    time.sleep(0.3 + dice.random())
                    kind = dice.choice(kinds)
                    done[kind] += 1
                    member = three.primary() if dice.random() < 0.7 else dice.choice(three.members)
                    at = three.members.index(member)
                    pause = 0.5 + 2 * dice.random()
                    if kind == "kill":
                        member.kill()
                        time.sleep(pause)
                        member.start()
                    elif kind == "kill all":
                        for one in three.members:
                            one.kill()
                        for one in three.members:
                            one.start()
                    elif kind == "hold":
                        member.hold()
                        time.sleep(pause)
                        member.let_go()
                    elif kind == "end":
                        code = member.stop()
                        if code != 0:
                            print(f"{member.name} ended with {code}")
                        member.start()
                    elif kind == "step":
                        try:
                            three.primary().command("replSetStepDown", 2)
                        except PyMongoError as error:
                            print(f"stepping down: {str(error)[:100]}")
                    elif kind == "partition":
                        network.part(at, [i for i in range(3) if i != at])
                        time.sleep(pause)
                        network.heal()
                    else:
                        network.cut(at, (at + dice.choice([1, 2])) % 3)
                        time.sleep(pause)
                        network.heal()
                    if dice.random() < 0.5:  # else the next one comes on top
                        three.wait_settled()
                    if (number + 1) % 10 == 0:
                        print(f"{number + 1} faults, {len(load.acknowledged)} writes, longest gap {load.gap:.1f} s", file=sys.stderr, flush=True)
                three.wait_settled()
            seconds = time.monotonic() - began
            three.check_nobody_failed()
            three.check_same()
            load.check_kept()
            restarts = sum(len(member.log_lines(7100031)) for member in three.members)
            print(f"{count} faults in {seconds:.0f} s, seed {seed}: {done}")
            print(f"documents acknowledged by a majority {len(load.acknowledged)}, increments {sum(load.counters.values())}, lost 0; "
                  f"members equal; longest time without an acknowledged write {load.gap:.1f} s; rollbacks {restarts}")
            print(f"errors seen by clients: {sum(load.errors.values())} {dict(load.errors)}")
    finally:
        if network:
            network.__exit__()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("failover").add_argument("--rounds", type=int, default=7)
    how = commands.add_parser("faults")
    how.add_argument("--count", type=int, default=100)
    how.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    failover(given.rounds) if given.command == "failover" else faults(given.count, given.seed)


if __name__ == "__main__":
    main()
