"""This plugin for pytest lets the tests find this machine by the name "server" too, which isn't in the servers' certificates.

The driver's suite asks for a line in /etc/hosts instead. A test run doesn't write there.
"""
import socket

_find_addresses = socket.getaddrinfo
_find_one = socket.gethostbyname


def _known(host):
    return "localhost" if host == "server" else host


def _addresses(host, *more, **named):
    return _find_addresses(_known(host), *more, **named)


def _one(host):
    return _find_one(_known(host))


socket.getaddrinfo = _addresses
socket.gethostbyname = _one
