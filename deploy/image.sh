#!/bin/sh
# The steps of the image, run by the Dockerfile and, without a daemon, by a test.
#   image.sh packages VENV            makes VENV and installs the locked packages
#   image.sh program SOURCE VENV APP  copies the program to APP and makes APP/bin/gpuplan, which VENV/bin/python runs
# (PYTHON names another interpreter for the second step.)
set -eu
step=$1
shift
case "$step" in
  packages)
    venv=$1
    "${PYTHON:-python3}" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --no-cache-dir --require-hashes \
      --only-binary :all: -r "$(dirname "$0")/requirements.lock"
    ;;
  program)
    source=$1 venv=$2 app=$3
    python=${PYTHON:-$venv/bin/python}
    mkdir -p "$app/bin"
    # What is not in the program's own folders (tests, data, settings of the user) never gets into an image.
    for part in service providers; do
      (cd "$source" && find "$part" -type f ! -name '*.pyc' | tar -cf - -T -) | (cd "$app" && tar -xf -)
    done
    printf '#!%s\nimport sys\n\nsys.path.insert(0, "%s")\nfrom service.cli import main\n\nsys.exit(main())\n' "$python" "$app" >"$app/bin/gpuplan"
    chmod 0755 "$app/bin/gpuplan"
    "$python" -m compileall -q "$app/service" "$app/providers"
    chmod -R a+rX,go-w "$app"
    ;;
  *)
    echo "image.sh: no step is called $step" >&2
    exit 2
    ;;
esac
