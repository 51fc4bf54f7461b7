#!/usr/bin/env bash
# Builds the Python package with the profile of the tests, installs the wheel into a fresh
# environment, as a user would, and runs its tests there, which mostly wait, three at a time.
#
#   tools/package.sh [SCRIPT ARGUMENT...]    runs this script there instead
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Alone, the package has dependencies with fewer features than in the workspace: all would be built once
# more. With an example features are those of tests, so its tests find what `cargo test` has built.
if [ $# = 0 ]; then
    mkdir "$folder/bin"
    cat >"$folder/bin/cargo" <<END
#!/bin/sh
[ "\$1" = rustc ] || exec "$(command -v cargo)" "\$@"
exec "$(command -v cargo)" build --quiet --workspace --lib --example first \
    --message-format json-render-diagnostics
END
    chmod +x "$folder/bin/cargo"
    PATH=$folder/bin:$PATH
fi
.venv/bin/maturin build --quiet --profile dev --manifest-path python/Cargo.toml --out "$folder"
wheel=$(ls "$folder"/samplewire-*-cp310-abi3-*.whl)
.venv/bin/python -m venv "$folder/venv"
# What the package needs, and pytest, are those of .venv: nothing is fetched.
purelib() { "$1/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }
purelib .venv >"$(purelib "$folder/venv")/of-venv.pth"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-index --no-deps "$wheel"
if [ $# -gt 0 ]; then
    "$folder/venv/bin/python" "$@"
else
    "$folder/venv/bin/python" -m pytest --quiet --config-file python/pyproject.toml \
        -p no:cacheprovider -n 3 python/tests
fi
