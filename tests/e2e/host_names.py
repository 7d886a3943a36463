#!/usr/bin/env python3
"""Hosts are found by names and by IPv6 addresses, also where they listen.

Usage: host_names.py NAME...; without a name it lists them.
"""
import socket
import sys

from named import in_folder, run_named
from run import free_port, tundish

GRAPH = """tundish: 1
actors:
  read:  {{kind: reader, source: {{text: {{files: {folder}/lines.txt}}}}}}
  batch: {{kind: batcher, size: 8}}
  feed:  {{kind: feeder}}
links: [read -> batch -> feed]
"""


def rows_of(folder, address):
    """Rows that pass between two hosts at an address."""
    (folder / "lines.txt").write_text("".join(f"line {i}\n" for i in range(100)))
    graph, hosts = folder / "graph.yaml", folder / "hosts.yaml"
    graph.write_text(GRAPH.format(folder=folder))
    hosts.write_text(f"""hosts:
  a: {{address: "{address}", port: {free_port()}, transport: tcp, actors: [read, batch]}}
  b: {{address: "{address}", transport: tcp, actors: [feed]}}
insecure: true
""")
    return tundish("up", graph, hosts, timeout=60).report["rows"]["fed"]


def test_names_of_this_machine(folder):
    assert rows_of(folder, "localhost") == 100
    try:
        socket.getaddrinfo(socket.gethostname(), None)
    except socket.gaierror:
        return
    assert rows_of(folder, socket.gethostname()) == 100


def own_addresses_of_ipv_six():
    """One that other machines may know, if this one has any."""
    with open("/proc/net/if_inet6", encoding="ascii") as lines:
        words = [line.split() for line in lines]
    return [socket.inet_ntop(socket.AF_INET6, bytes.fromhex(word[0])) for word in words if word[3] == "00"][:1]


def test_addresses_of_ipv_six(folder):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return  # this machine has no IPv6
    for address in ("::1", "[::1]", "[0:0::1]", "::ffff:127.0.0.1"):
        assert rows_of(folder, address) == 100
    for own in own_addresses_of_ipv_six():
        assert rows_of(folder, own) == rows_of(folder, f"[{own}]") == rows_of(folder, f"[{own.upper()}]") == 100


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], in_folder))
