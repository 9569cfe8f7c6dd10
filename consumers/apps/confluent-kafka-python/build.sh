# The app's own environment, with what requirements.txt pins and nothing else.
set -e
python3 -m venv --clear .venv
.venv/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.txt
