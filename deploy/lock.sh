#!/bin/sh
# Writes both lock files anew from pyproject.toml: hashes, universal for Python 3.11 to 3.14, no index address.
# Needs `uv` on the PATH. Add `--upgrade` to move to newer versions.
set -eu
cd "$(dirname "$0")/.."
compile() {
  uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
    --no-header --no-annotate "$@"
}
compile "$@" pyproject.toml -o deploy/requirements.lock
compile "$@" --extra test -c deploy/requirements.lock pyproject.toml -o deploy/requirements-test.lock
# The peer that our estimates are scored beside: alone, without the gigabytes of torch that its formulas do not need.
printf 'hf-vram-calc\n' | compile "$@" --no-deps - -o deploy/requirements-peers.lock
