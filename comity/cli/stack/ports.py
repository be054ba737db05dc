"""Loopback ports: chosen once per data folder and kept, so that bookmarks, Blocks and logins stay true."""

import json
import random
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path

from comity.cli.errors import PortTaken, StackError

LOOPBACK = "127.0.0.1"
PORT_RANGE = range(21_000, 29_000)
"""Below the range that Linux takes for outgoing connections (32768-60999), which would borrow a kept port by chance."""


def keep_ports(names: Iterable[str], path: Path) -> dict[str, int]:
    """The port of each part, by name: those in the file, and newly chosen free ones for parts that lack one.

    Raises PortTaken when a kept port is in use, naming the part, the port, its user and the fix; StackError when the
    file cannot be understood.
    """
    wanted = list(names)
    kept = read_ports(path)
    for name in wanted:
        if name in kept and not is_free(kept[name]):
            raise PortTaken(
                f"port {kept[name]} of {name} is taken by {owner_of(kept[name])}: end that process, "
                f"or delete {path} to choose new ports"
            )
    ports = complete(wanted, kept, random.sample(PORT_RANGE, len(PORT_RANGE)))
    if ports != kept:
        path.write_text(json.dumps(ports, indent=2) + "\n")
    return ports


def complete(names: Iterable[str], kept: Mapping[str, int], candidates: Iterable[int]) -> dict[str, int]:
    """`kept` with a free port of its own for every name it lacks, taken from the candidates in order."""
    ports = dict(kept)
    taken = set(ports.values())
    free = (port for port in candidates if port not in taken and is_free(port))
    for name in names:
        if name not in ports:
            port = next(free, None)
            if port is None:
                raise StackError(f"no free port on {LOOPBACK} between {PORT_RANGE.start} and {PORT_RANGE.stop}")
            ports[name] = port
    return ports


def read_ports(path: Path) -> dict[str, int]:
    """The kept ports; none where there is no file. Raises StackError for a file that is not a map of ports."""
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise StackError(f"{path} cannot be read ({error}): delete it to choose new ports") from None
    valid = isinstance(found, dict) and all(isinstance(port, int) and 0 < port < 65536 for port in found.values())
    if not valid or len(set(found.values())) != len(found):
        raise StackError(f"{path} is not a map of parts to different ports: delete it to choose new ports")
    return {str(name): int(port) for name, port in found.items()}


def is_free(port: int) -> bool:
    """Whether a server could listen there now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As the servers do: connections of the last run that are still in TIME_WAIT do not count as taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def owner_of(port: int) -> str:
    """Who listens on the port, as far as this user may see."""
    import psutil

    try:
        for connection in psutil.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN and connection.laddr and connection.laddr.port == port:
                if connection.pid is None:
                    break
                return f"pid {connection.pid} ({psutil.Process(connection.pid).name()})"
    except psutil.Error:
        pass
    return "another process"
