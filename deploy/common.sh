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

# is_installed LOCK: a stamp of the lock and of the folder says that nothing is left to do.
is_installed() {
  stamp="$ROOT/.venv/.installed-$(basename "$1")"
  [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$(stamp_of "$1")" ] && "$ROOT/.venv/bin/python" -c 'import fastapi, numpy' >/dev/null 2>&1
}

stamp_of() {
  printf '%s %s\n' "$(cksum <"$1")" "$ROOT"
}

# install_into_venv LOCK [SUPERSET]: idempotent; does nothing when the lock, or one that holds it, is installed.
install_into_venv() {
  lock=$1
  venv="$ROOT/.venv"
  for enough in "$@"; do
    if is_installed "$enough"; then return 0; fi
  done
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
  rm -f "$venv/.installed-$(basename "$lock")"
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
  stamp_of "$lock" >"$venv/.installed-$(basename "$lock")"
}

# apt_install WHY PACKAGE...: installs missing Debian packages, as root only; without them what needs them is left out.
apt_install() {
  why=$1
  shift
  missing=
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $package"
  done
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    say "Not installed:$missing. Without them: no $why. On Debian or Ubuntu: apt-get install --no-install-recommends$missing"
    return 0
  fi
  say "Installing$missing ($why)"
  # shellcheck disable=SC2086
  if ! apt_quietly install --no-install-recommends $missing && ! { apt_quietly update && apt_quietly install --no-install-recommends $missing; }; then
    say "apt-get could not install:$missing. Without them: no $why."
  fi
}

# unpack_prometheus: Debian's prometheus beside .venv, for promtool; unpacked, not installed, so that no service is enabled.
unpack_prometheus() {
  if [ -x "$ROOT/.tools/prometheus/usr/bin/promtool" ] || command -v promtool >/dev/null 2>&1; then return 0; fi
  if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg >/dev/null 2>&1; then
    say "Without promtool: the tests of alerts and dashboard are skipped."
    return 0
  fi
  folder="$ROOT/.tools/prometheus.new"
  rm -rf "$folder"
  mkdir -p "$folder"
  say "Unpacking prometheus (tests of alerts and dashboard)"
  if (cd "$folder" && { apt-get -qq download prometheus || { apt_quietly update && apt-get -qq download prometheus; }; }) >/dev/null 2>&1 &&
    dpkg -x "$folder"/prometheus_*.deb "$folder" >/dev/null 2>&1; then
    rm -f "$folder"/prometheus_*.deb
    rm -rf "$ROOT/.tools/prometheus"
    mv "$folder" "$ROOT/.tools/prometheus"
  else
    rm -rf "$folder"
    say "prometheus could not be unpacked: the tests of alerts and dashboard are skipped."
  fi
}

apt_quietly() {
  DEBIAN_FRONTEND=noninteractive apt-get -y -qq -o Dpkg::Use-Pty=0 "$@" </dev/null >/dev/null 2>&1
}
