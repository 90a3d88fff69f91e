#!/bin/sh
# Sets up .venv with the test tools and runs every check and test. `--setup-only` stops after the set-up, `--full` adds
# long fuzzing; every other argument goes to pytest.
set -eu
ROOT=$(cd "$(dirname "$0")/.." && pwd)
cd "$ROOT"
. "$ROOT/deploy/common.sh"

setup_only=
while [ $# -gt 0 ]; do
  case "$1" in
    --setup-only) setup_only=1 ;;
    --full)
      GPUPLAN_HYPOTHESIS_PROFILE=full
      export GPUPLAN_HYPOTHESIS_PROFILE
      ;;
    *) break ;;
  esac
  shift
done
install_into_venv "$ROOT/deploy/requirements-test.lock"
"$ROOT/.venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --require-hashes --no-deps \
  -r "$ROOT/deploy/requirements-peers.lock" || say "Without hf-vram-calc: the tests that score it are skipped."
apt_install "PDF reports" libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0 fonts-dejavu-core
apt_install "tests in a real browser" chromium
apt_install "recalculation of workbooks" libreoffice-calc-nogui
apt_install "pictures of PDF pages" poppler-utils
unpack_prometheus
[ -z "$setup_only" ] || exit 0

bin="$ROOT/.venv/bin"
say "ruff"
"$bin/ruff" check .
"$bin/ruff" format --check .
say "mypy"
"$bin/mypy"
say "import linter"
"$bin/lint-imports"
say "pytest"
exec "$bin/python" -m pytest -n 2 "$@"
