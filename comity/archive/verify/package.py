"""`datapackage.json`, the hash of it, and the hashes in it (WACZ 1.1.1; Frictionless Data Package)."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from comity.archive.verify.container import Container
from comity.archive.verify.steps import Step, failed, judged, ok, skipped

PACKAGE = "datapackage.json"
DIGEST = "datapackage-digest.json"
UNLISTED = frozenset({PACKAGE, DIGEST})
HASHES = ("sha256", "md5")


@dataclass(frozen=True, slots=True)
class Described:
    """What the package says of itself. `resources` are those that are well-formed."""

    facts: dict[str, Any]
    resources: tuple[dict[str, Any], ...]

    @property
    def ours(self) -> bool:
        """Whether it says that we made it."""
        return str(self.facts.get("software", "")).startswith("comity ")


def read_description(container: Container) -> tuple[Described | None, Step]:
    """The description, or None with the step that says what is wrong with it."""
    if PACKAGE not in container.members:
        return None, failed("datapackage", f"{PACKAGE} is missing: this is not a WACZ")
    try:
        facts = json.loads(container.read(PACKAGE))
    except (ValueError, RecursionError) as error:
        return None, failed("datapackage", f"{PACKAGE} is not JSON: {error}")
    listed = facts.get("resources") if isinstance(facts, dict) else None
    if not isinstance(facts, dict) or not isinstance(listed, list):
        return None, failed("datapackage", f"{PACKAGE} has no list of resources")
    whole = [item for item in listed if _well_formed(item)]
    problems = [f"resource {number} lacks path, hash or bytes" for number in range(len(listed) - len(whole))]
    problems += [] if facts.get("profile") in ("data-package", "wacz-package") else ["profile is not data-package"]
    problems += [] if facts.get("wacz_version") else ["wacz_version is missing"]
    told = f"WACZ {facts.get('wacz_version')} by {facts.get('software', 'unnamed software')}, {len(whole)} resources"
    return Described(facts, tuple(whole)), judged("datapackage", told, problems)


def read_digest(container: Container) -> dict[str, Any] | None:
    """`datapackage-digest.json`; None where it is missing or is none."""
    if DIGEST not in container.members:
        return None
    try:
        told = json.loads(container.read(DIGEST))
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) else None


def check_digest(container: Container) -> Step:
    """Whether `datapackage.json` has the hash that the digest file tells."""
    if DIGEST not in container.members:
        return skipped("digest", f"{DIGEST} is missing, which is allowed: nothing vouches for {PACKAGE}")
    told = read_digest(container)
    if told is None:
        return failed("digest", f"{DIGEST} is not a JSON object")
    if told.get("path") != PACKAGE:
        return failed("digest", f"{DIGEST} is about {told.get('path')!r}, not {PACKAGE}")
    found = f"sha256:{container.hashes.get(PACKAGE)}"
    if told.get("hash") != found:
        return failed("digest", f"{PACKAGE} has {found}, told is {told.get('hash')}")
    return ok("digest", found)


def check_resources(container: Container, described: Described) -> Step:
    """Bytes and hash of everything listed, and nothing in the ZIP that is not listed."""
    problems: list[str] = []
    unknown = 0
    for item in described.resources:
        path = item["path"]
        kind, _, digest = str(item["hash"]).partition(":")
        if path not in container.members:
            problems.append(f"{path}: is listed but not there")
        elif container.sizes.get(path) != item["bytes"]:
            problems.append(f"{path}: has {container.sizes.get(path)} bytes, told are {item['bytes']}")
        elif kind not in HASHES:
            unknown += 1
        elif _hash_of(container, path, kind) != digest:
            problems.append(f"{path}: its {kind} is not the one that {PACKAGE} tells")
    listed = {item["path"] for item in described.resources} | UNLISTED
    problems += [f"{name}: is not listed" for name in container.members if name not in listed and name[-1:] != "/"]
    if not problems and unknown:
        return skipped("resources", f"{unknown} of {len(described.resources)} have a hash that is none of {HASHES}")
    return judged("resources", f"bytes and hash of {len(described.resources)} resources", problems)


def _well_formed(item: object) -> bool:
    return (
        isinstance(item, dict)
        and isinstance(item.get("path"), str)
        and isinstance(item.get("hash"), str)
        and isinstance(item.get("bytes"), int)
    )


def _hash_of(container: Container, path: str, kind: str) -> str:
    if kind == "sha256":
        return container.hashes.get(path, "")
    digest = hashlib.md5(usedforsecurity=False)
    for piece in container.pieces(path):
        digest.update(piece)
    return digest.hexdigest()
