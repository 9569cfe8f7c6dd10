# An environment for the programs, made once.
set -e
test -e .venv/ready && exit
python3 -m venv --clear .venv
.venv/bin/pip install --quiet --disable-pip-version-check confluent-kafka==2.16.1
touch .venv/ready
