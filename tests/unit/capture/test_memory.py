"""What is freed is given back, however often and in however many threads it was taken, and found between captures."""

import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, re, threading
from comity.capture.memory import give_back_large_blocks

give_back_large_blocks()
malloc, free = (ctypes.CDLL(None)[name] for name in ("malloc", "free"))
malloc.restype, free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]

def work():
    for size in (4 << 20, 8 << 20, 16 << 20):
        places = [malloc(size), malloc(4096)]
        ctypes.memset(places[0], 1, size)
        free(places[0])

for _ in range(5):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
told = open("/proc/self/smaps_rollup").read()
print(int(re.search(r"^Pss_Anon:\\s+(\\d+) kB", told, re.M)[1]) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is read from /proc")
def test_large_blocks_go_back_when_they_are_freed() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60)
    assert int(done.stdout) < 20, "45 where heaps keep it"


ASIDE = """
import gc, weakref
from comity.capture.memory import collect, set_program_aside

class Node:
    def __init__(self):
        self.own = self

program = [Node() for _ in range(50_000)]
set_program_aside()
kept, leaving = Node(), Node()
gc.collect(1)
left = weakref.ref(leaving)
del leaving
captures = [[] for _ in range(700 * 10 * 50)]
print("a capture's work brought no full collection:", left() is not None)
collect()
print("found between captures:", left() is None)
print("what lives is kept:", kept.own is kept and program[-1].own is program[-1])
print("the program was left out:", not any(held is program for held in gc.get_objects()))
"""


def test_full_collections_come_between_captures_and_leave_the_program_out() -> None:
    done = subprocess.run([sys.executable, "-c", ASIDE], capture_output=True, text=True, check=True, timeout=60)
    told = dict(line.split(": ") for line in done.stdout.splitlines())
    assert len(told) == 4
    assert set(told.values()) == {"True"}, told
