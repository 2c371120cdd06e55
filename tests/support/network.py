"""Gives each member a machine of its own: network namespaces behind one bridge, and links that can be cut one way or both."""
import os
import subprocess


class NotPermitted(Exception):
    """This process may not make network namespaces."""


def ip(*arguments):
    done = subprocess.run(["ip", *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        raise NotPermitted(f"ip {' '.join(map(str, arguments))}: {done.stderr.strip()}")


class Network:
    """`count` namespaces; place(i) are a Server's arguments that put it into the i-th. The test itself sits outside, and
    reaches all of them. A context manager: everything goes on the way out."""

    def __init__(self, count):
        self.tag = f"p{os.getpid() % 10_000}"
        self.net = f"10.213.{os.getpid() % 250}"
        self.bridge = f"{self.tag}br"
        self.count = count
        self._cut = set()

    def __enter__(self):
        try:
            ip("link", "add", self.bridge, "type", "bridge")
            ip("addr", "add", f"{self.net}.254/24", "dev", self.bridge)
            ip("link", "set", self.bridge, "up")
            for i in range(self.count):
                ip("netns", "add", self._name(i))
                ip("link", "add", f"{self.tag}v{i}", "type", "veth", "peer", "name", "eth0", "netns", self._name(i))
                ip("link", "set", f"{self.tag}v{i}", "master", self.bridge, "up")
                ip("-n", self._name(i), "addr", "add", f"{self.address(i)}/24", "dev", "eth0")
                ip("-n", self._name(i), "link", "set", "eth0", "up")
                ip("-n", self._name(i), "link", "set", "lo", "up")
        except (NotPermitted, FileNotFoundError) as error:
            self.__exit__()
            raise NotPermitted(str(error))
        return self

    def __exit__(self, *error):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        try:
            for i in range(self.count):
                subprocess.run(["ip", "netns", "del", self._name(i)], **quiet)
            subprocess.run(["ip", "link", "del", self.bridge], **quiet)
        except FileNotFoundError:
            pass

    def _name(self, i):
        return f"{self.tag}n{i}"

    def address(self, i):
        return f"{self.net}.{i + 1}"

    def place(self, i):
        return {"host": self.address(i), "before": ("ip", "netns", "exec", self._name(i))}

    def cut(self, sender, receiver):
        """Nothing that `sender` sends reaches `receiver` any more. None stands for the test."""
        self._aim(sender, receiver, "replace", "lladdr", "02:00:00:00:00:99", "nud", "permanent")
        self._cut.add((sender, receiver))

    def part(self, one, others):
        for other in others:
            self.cut(one, other)
            self.cut(other, one)

    def heal(self):
        for sender, receiver in self._cut:
            self._aim(sender, receiver, "del")
        self._cut.clear()

    # Frames go to a station that doesn't exist: no error comes back, as on a line that was cut.
    def _aim(self, sender, receiver, verb, *how):
        target = f"{self.net}.254" if receiver is None else self.address(receiver)
        place = () if sender is None else ("-n", self._name(sender))
        ip(*place, "neigh", verb, target, *how, "dev", self.bridge if sender is None else "eth0")
