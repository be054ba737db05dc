"""The pages that are loaded and captured, and the site that serves them, in a process of its own.

`SMALL` is the least that is still a page: 20 parts, on this machine, so that what a capture adds weighs most. `FIELD`
is one as the field has them: 40 parts of 1.6 MB together, of the kinds and shares that pages have. `FAR` is the same
from a site whose every answer takes as long as to another country and back.
"""

import contextlib
import io
import json
import multiprocessing
import random
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing.connection import Connection as Pipe

from PIL import Image

from tests.site.fixture import FixtureSite
from tests.site.wire import Response, html

SMALL, FIELD, FAR = "/small", "/field", "/far/field"
TITLES = {SMALL: "small page, site near by", FIELD: "page like the field's, near by", FAR: "the same, 40 ms away"}
AWAY_MS = 40
START_BUDGET_S = 30.0
SMALL_PARTS = 20
SCRIPT_BYTES = 30_000
STYLES, SCRIPTS, PICTURES, ANSWERS = 4, 12, 21, 2
TEXT = "<p>The keeper counts the lamps.</p>"


@contextlib.contextmanager
def served() -> Iterator[str]:
    """The site's address, without a path. SystemExit where it does not start."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    try:
        if not ours.poll(START_BUDGET_S):
            raise SystemExit("the fixture web did not start")
        yield ours.recv()
    finally:
        ours.close()
        process.join(10)


def _serve(pipe: Pipe) -> None:
    with FixtureSite(hosts=1) as site:
        for path, answer in (_small() | _field("") | _field("/far", delay_ms=AWAY_MS)).items():
            site.set(path, answer)
        pipe.send(site.url(0, ""))
        with contextlib.suppress(EOFError):
            pipe.recv()


def _small() -> dict[str, Response]:
    answers = {"/part-0.css": Response(body=b"p { color: #124 }", content_type="text/css")}
    parts = ["<link rel=stylesheet href=/part-0.css>"]
    for number in range(1, SMALL_PARTS):
        if number % 4 == 0:
            body = b"globalThis.part = " + str(number).encode() + b"; // " + b"x" * SCRIPT_BYTES
            answers[f"/part-{number}.js"] = Response(body=body, content_type="text/javascript")
            parts.append(f"<script src=/part-{number}.js></script>")
        else:
            parts.append(f"<img src=/pictures/orchard-{number}-640.png width=320 height=180 alt=''>")
    return answers | {SMALL: html(f"<!doctype html><title>Small</title>{''.join(parts)}{TEXT * 50}")}


def _field(root: str, *, delay_ms: int = 0) -> dict[str, Response]:
    """One document, styles, scripts with words in them, photographs, answers for scripts."""
    chance = random.Random(7)
    answers: dict[str, Response] = {}
    parts: list[str] = []
    for number in range(STYLES):
        path = f"{root}/style-{number}.css"
        answers[path] = Response(body=_styles(chance, 30_000), content_type="text/css")
        parts.append(f"<link rel=stylesheet href={path}>")
    for number in range(SCRIPTS):
        path = f"{root}/script-{number}.js"
        answers[path] = Response(body=_script(chance, 45_000), content_type="text/javascript")
        parts.append(f"<script src={path} defer></script>")
    for number in range(PICTURES):
        path = f"{root}/picture-{number}.jpg"
        answers[path] = Response(body=_picture(chance), content_type="image/jpeg")
        parts.append(f"<img src={path} width=240 height=180 alt=''>")
    for number in range(ANSWERS):
        path = f"{root}/answer-{number}.json"
        told = json.dumps([_words(chance, 20) for _ in range(150)]).encode()
        answers[path] = Response(body=told, content_type="application/json")
        parts.append(f"<script>fetch('{path}').then(answer => answer.json())</script>")
    text = "".join(f"<p>{_words(chance, 60)}</p>" for _ in range(80))
    answers[f"{root}/field"] = html(f"<!doctype html><title>Field</title>{''.join(parts)}{text}")
    return {path: replace(answer, delay_ms=delay_ms) for path, answer in answers.items()}


def _words(chance: random.Random, count: int) -> str:
    letters = "etaoinshrdlucmfw"
    return " ".join("".join(chance.choices(letters, k=chance.randint(2, 9))) for _ in range(count))


def _styles(chance: random.Random, size_bytes: int) -> bytes:
    rules: list[str] = []
    while sum(map(len, rules)) < size_bytes:
        rules.append(f".{_words(chance, 1)}{len(rules)} {{ color: #{chance.randrange(4096):03x}; margin: 1px }}\n")
    return "".join(rules).encode()


def _script(chance: random.Random, size_bytes: int) -> bytes:
    lines: list[str] = []
    while sum(map(len, lines)) < size_bytes:
        lines.append(f"globalThis.{_words(chance, 1)}{len(lines)} = () => '{_words(chance, 6)}';\n")
    return "".join(lines).encode()


def _picture(chance: random.Random) -> bytes:
    """Soft colours with some grain, as photographs have."""
    coarse = Image.frombytes("RGB", (16, 12), chance.randbytes(16 * 12 * 3))
    soft = coarse.resize((480, 360), Image.Resampling.BICUBIC)
    grain = Image.frombytes("L", (480, 360), chance.randbytes(480 * 360)).convert("RGB")
    out = io.BytesIO()
    Image.blend(soft, grain, 0.12).save(out, "JPEG", quality=82)
    return out.getvalue()
