# An environment for consumer.py, made once.
set -e
test -e .venv/ready && exit 0
python3 -m venv --clear .venv
.venv/bin/pip install --quiet --disable-pip-version-check --requirement requirements.txt
touch .venv/ready
