"""Results by content, in memory and in a folder."""

from pathlib import Path

import pytest

from comity.tscompile.cache import ResultCache, cache_key
from comity.tscompile.errors import CacheUnusable
from comity.tscompile.program import Source

ONE, OTHER = Source("a", "let a = 1;"), Source("b", "let b = 1;")
BASE = cache_key("7.0.2", b"types", [ONE, OTHER])


@pytest.mark.parametrize(
    "key",
    [
        cache_key("7.0.3", b"types", [ONE, OTHER]),
        cache_key("7.0.2", b"other types", [ONE, OTHER]),
        cache_key("7.0.2", b"types", [OTHER, ONE]),
        cache_key("7.0.2", b"types", [ONE]),
        cache_key("7.0.2", b"types", [Source("c", ONE.text), OTHER]),
        cache_key("7.0.2", b"types", [Source("a", "let a = 2;"), OTHER]),
    ],
)
def test_whatever_decides_the_result_is_in_the_key(key: str) -> None:
    assert key != BASE


def test_same_content_has_the_same_key() -> None:
    assert cache_key("7.0.2", b"types", [Source("a", "let a = 1;"), OTHER]) == BASE


def test_least_recently_used_goes_first() -> None:
    cache = ResultCache(2)
    cache.put("one", ["1"])
    cache.put("two", ["2"])
    assert cache.get("one") == ("1",)
    cache.put("three", ["3"])
    assert (cache.get("one"), cache.get("two"), cache.get("three")) == (("1",), None, ("3",))


def test_nothing_is_kept_where_nothing_may_be() -> None:
    cache = ResultCache(0)
    cache.put("one", ["1"])
    assert cache.get("one") is None


def test_folder_outlives_the_process_and_is_private(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "cache"
    ResultCache(9, folder).put("one", ["あ", "2"])
    assert ResultCache(9, folder).get("one") == ("あ", "2")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in folder.iterdir()] == [0o600]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"digest": "0", "javascript": ["1"]}', '{"javascript": 1}'])
def test_damaged_entry_is_a_miss(tmp_path: Path, content: str) -> None:
    ResultCache(9, tmp_path).put("one", ["1"])
    (tmp_path / "one.json").write_text(content)
    assert ResultCache(9, tmp_path).get("one") is None


def test_folder_keeps_no_more_than_allowed(tmp_path: Path) -> None:
    cache = ResultCache(3, tmp_path)
    for number in range(6):
        cache.put(str(number), ["x"])
    assert len(list(tmp_path.iterdir())) == 3


def test_folder_that_others_may_write_is_refused(tmp_path: Path) -> None:
    shared, file = tmp_path / "shared", tmp_path / "file"
    shared.mkdir()
    shared.chmod(0o777)
    file.touch()
    for folder in (shared, file, file / "below"):
        with pytest.raises(CacheUnusable, match="TSCOMPILE_CACHE="):
            ResultCache(9, folder)
    shared.chmod(0o700)
    ResultCache(9, shared).put("one", ["1"])


def test_folder_that_cannot_be_written_costs_nothing_but_time(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    cache = ResultCache(9, folder)
    folder.rmdir()
    cache.put("one", ["1"])
    assert cache.get("one") == ("1",)
