"""Files of a capture get their names together, whole, or not at all."""

import asyncio
import os
import threading
import time
from pathlib import Path, PurePosixPath

import pytest

from comity.capture import folder_store
from comity.capture.errors import CaptureFault
from comity.capture.folder_store import FolderStore

DAY = PurePosixPath("2030/01/31")


@pytest.fixture
async def store(tmp_path: Path) -> FolderStore:
    made = FolderStore(tmp_path / "store", silence_ms=15_000)
    await made.prepare()
    return made


def files(store: FolderStore) -> list[str]:
    return sorted(str(path.relative_to(store.root)) for path in store.root.rglob("*") if path.is_file())


async def test_given_files_have_their_names_and_locations(store: FolderStore) -> None:
    batch = store.batch("t1")
    batch.put("t1.html", b"h")
    with batch.open("t1_灯.wacz") as out:
        out.write(b"w")
        assert "2030" not in " ".join(files(store))
    locations = await store.place(DAY).give(batch)
    batch.discard()
    assert files(store) == ["2030/01/31/t1.html", "2030/01/31/t1_灯.wacz"]
    assert locations["t1.html"] == f"file://{store.root}/2030/01/31/t1.html"


async def test_small_file_has_its_name_and_leaves_nothing_else(store: FolderStore) -> None:
    assert await store.place(DAY).put("t1.result.json", b"{}") == f"file://{store.root}/2030/01/31/t1.result.json"
    assert files(store) == ["2030/01/31/t1.result.json"]
    assert [path.name for path in store.root.iterdir()] == ["2030"]


async def test_discarded_files_leave_nothing(store: FolderStore) -> None:
    batch = store.batch("t1")
    batch.put("t1.html", b"h")
    batch.discard()
    assert files(store) == []
    with pytest.raises(OSError, match="over"):
        await store.place(DAY).give(batch)


async def test_files_are_on_disk_once_they_are_synced(store: FolderStore, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_size))
    batch = store.batch("t1")
    batch.put("t1.html", b"h")
    batch.put("t1.png", b"pp")
    assert synced == []
    batch.sync()
    assert sorted(synced) == [1, 2]
    batch.sync()
    assert len(synced) == 2
    batch.discard()


async def test_disk_that_fails_when_it_is_synced_is_told(store: FolderStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    batch = store.batch("t1")
    batch.put("t1.html", b"h")
    batch.put("t1.png", b"p")
    monkeypatch.setattr(os, "fsync", fail)
    batch.sync_backlog()
    with pytest.raises(OSError, match="No space"):
        batch.sync()
    batch.discard()
    assert files(store) == []


async def test_giving_that_fails_half_way_names_nothing(store: FolderStore) -> None:
    batch = store.batch("t1")
    batch.put("t1.html", b"h")
    batch.put("t1.png", b"p")
    (store.root / DAY / "t1.png").mkdir(parents=True)
    with pytest.raises(OSError, match=r"t1\.png"):
        await store.place(DAY).give(batch)
    batch.discard()
    assert files(store) == []


async def test_disk_that_takes_nothing_is_a_fault_of_the_store_and_names_nothing_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FolderStore(tmp_path / "store", silence_ms=100)
    await store.prepare()
    batch = store.batch("t1")
    batch.put("t1.html", b"h")
    gone_on, freed = threading.Event(), threading.Event()

    def hang(_: Path) -> None:
        freed.wait(30)
        gone_on.set()

    monkeypatch.setattr(folder_store, "sync_folder", hang)
    with pytest.raises(CaptureFault, match="took nothing") as told:
        await store.place(DAY).give(batch)
    assert told.value.kind == "artifact_sink"
    freed.set()
    assert await asyncio.to_thread(gone_on.wait, 30)
    async with asyncio.timeout(30):
        while (store.root / DAY / "t1.html").exists():
            await asyncio.sleep(0.01)
    batch.discard()


async def test_old_left_overs_are_swept_and_young_ones_kept(store: FolderStore) -> None:
    old, young = store.root / ".part-old", store.root / ".part-young"
    for folder in (old, young):
        folder.mkdir()
    long_ago = time.time() - 7200
    os.utime(old, (long_ago, long_ago))
    await store.prepare()
    assert not old.exists()
    assert young.exists()
