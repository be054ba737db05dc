#!/bin/sh
# Source packages that carry public test suites, into the folder given. Tests that want them skip where they are not.
set -eu
folder=$1
mkdir -p "$folder"
constraint=$(mktemp)
trap 'rm -f "$constraint"' EXIT
echo 'setuptools<70' > "$constraint" # pip runs an old package's setup.py to learn its name, which needs pkg_resources
for package in html5lib==1.1 kdlquery==1.6.0; do
    [ -f "$folder/$(echo "$package" | sed 's/==/-/').tar.gz" ] && continue
    PIP_CONSTRAINT=$constraint .venv/bin/python -m pip download -q --no-deps --no-binary "${package%%==*}" "$package" -d "$folder"
done
# A real site to read, of the Debian package that documents Python: its tutorial alone.
[ -d "$folder/python-doc" ] || ! command -v apt-get >/dev/null || (
    unpacked=$(mktemp -d)
    trap 'rm -rf "$unpacked"' EXIT
    cd "$unpacked"
    for version in 3.11 3.12 3.13 3.14; do
        apt-get download -qq "python$version-doc" 2>/dev/null && break
    done
    for package in ./*.deb; do
        [ -f "$package" ] || exit 0
        mkdir "$OLDPWD/$folder/python-doc"
        dpkg-deb --fsys-tarfile "$package" |
            tar -x -C "$OLDPWD/$folder/python-doc" --strip-components=6 --wildcards './usr/share/doc/python3*/html/tutorial'
    done
)
