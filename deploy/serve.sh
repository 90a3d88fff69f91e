#!/bin/sh
# Sets up .venv and starts the service on 127.0.0.1:8000 with SQLite. `--setup-only` stops after the set-up;
# every other argument goes to `gpuplan serve`.
set -eu
ROOT=$(cd "$(dirname "$0")/.." && pwd)
. "$ROOT/deploy/common.sh"

setup_only=
if [ "${1:-}" = "--setup-only" ]; then
  setup_only=1
  shift
fi
# The tests' lock is a superset: a folder set up for tests can serve.
install_into_venv "$ROOT/deploy/requirements.lock" "$ROOT/deploy/requirements-test.lock"
apt_install "PDF reports" libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0 fonts-dejavu-core
if [ -n "$setup_only" ]; then
  say "Set up. Start with: sh deploy/serve.sh"
  exit 0
fi
exec "$ROOT/.venv/bin/gpuplan" serve "$@"
