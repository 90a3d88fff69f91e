# Shared by serve.sh and test.sh: finds a Python, makes .venv, installs what a lock file names. Sourced, not run.

say() { printf '%s\n' "$*" >&2; }

# The newest Python from 3.14 down to 3.11 that starts (a pyenv shim may exist and still refuse to).
find_python() {
  for candidate in ${GPUPLAN_PYTHON:-} python3.14 python3.13 python3.12 python3.11 python3 python; do
    if command -v "$candidate" >/dev/null 2>&1 &&
      "$candidate" -c 'import sys; sys.exit(not ((3, 11) <= sys.version_info[:2] <= (3, 14)))' >/dev/null 2>&1; then
      printf '%s\n' "$candidate"
      return 0
    fi
  done
  say "No Python from 3.11 to 3.14 was found."
  say "On Debian or Ubuntu: apt-get install python3 python3-venv    (or set GPUPLAN_PYTHON to one)"
  return 1
}

# install_into_venv LOCK EXTRA: idempotent; a stamp of the lock and of pyproject.toml says that nothing is left to do.
install_into_venv() {
  lock=$1
  venv="$ROOT/.venv"
  stamp="$venv/.installed-$(basename "$lock")"
  wanted=$(cat "$lock" "$ROOT/pyproject.toml" | cksum)
  if [ -x "$venv/bin/python" ] && [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] &&
    "$venv/bin/python" -c 'import fastapi, numpy' >/dev/null 2>&1; then
    return 0
  fi
  python=$(find_python) || return 1
  if [ ! -x "$venv/bin/python" ] || ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    say "Making .venv with $("$python" --version 2>&1)"
    if ! "$python" -m venv --clear "$venv" >/dev/null 2>&1; then
      rm -rf "$venv"
      say "$python cannot make a virtual environment: its venv module is missing."
      say "On Debian or Ubuntu: apt-get install python3-venv"
      return 1
    fi
  fi
  say "Installing the locked versions of $(basename "$lock") (one to three minutes the first time)"
  rm -f "$stamp"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --require-hashes --only-binary :all: -r "$lock" || {
    say "The packages could not be installed; pip's words stand above. Running this script again goes on from here."
    return 1
  }
  "$venv/bin/python" - "$ROOT" <<'PY' || return 1
import pathlib, sys, sysconfig

# The project runs from its folder: a path file and the command, with no build step.
root, purelib = sys.argv[1], pathlib.Path(sysconfig.get_path("purelib"))
(purelib / "gpu_cost_optimizer.pth").write_text(root + "\n", encoding="utf-8")
command = pathlib.Path(sysconfig.get_path("scripts")) / "gpuplan"
command.write_text(f"#!{sys.executable}\nimport sys\n\nfrom service.cli import main\n\nsys.exit(main())\n", encoding="utf-8")
command.chmod(0o755)
PY
  printf '%s\n' "$wanted" > "$stamp"
}
