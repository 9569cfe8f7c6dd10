import json
import os
import random
import resource
import signal
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from consumers.journal import (
    MAGIC,
    Journal,
    JournalError,
    of_kinds,
    read_journal,
    tail_journal,
)
from harness.base.errors import BadInput, NoData

REPOSITORY = Path(__file__).parents[2]
WRITER = Path(__file__).with_name("journal_writer.py")


def written(path: Path, frames: int = 3) -> Path:
    journal = Journal(path, "member-1")
    for number in range(frames):
        journal.write("delivered", poll=number, text="π")
    journal.close()
    return path


def test_what_was_written_is_read(tmp_path: Path) -> None:
    content = read_journal(written(tmp_path / "j"))
    assert [f["kind"] for f in content.frames] == ["header", "delivered", "delivered", "delivered"]
    assert [f["seq"] for f in content.frames] == [0, 1, 2, 3]
    assert {"format": 2, "member": "member-1", "pid": os.getpid()}.items() <= (
        content.frames[0].items()
    )
    assert content.frames[1]["text"] == "π"
    assert not content.torn
    assert (tmp_path / "j").stat().st_size == content.whole_bytes


def test_times_are_epoch_microseconds(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j", "member-1")
    at = journal.write("closed")
    journal.close()
    assert 1_600_000_000_000_000 < at < 5_000_000_000_000_000
    assert at == read_journal(tmp_path / "j").frames[-1]["at"]


def test_a_file_is_as_documented(tmp_path: Path) -> None:
    data = written(tmp_path / "j", frames=0).read_bytes()
    assert data.startswith(MAGIC)
    length, crc = struct.unpack_from("<II", data, len(MAGIC))
    payload = data[len(MAGIC) + 8 :]
    assert (length, crc) == (len(payload), zlib.crc32(payload))
    assert json.loads(payload)["kind"] == "header"


@pytest.mark.parametrize("round_", range(12))
def test_a_killed_writer_loses_nothing_it_said(tmp_path: Path, round_: int) -> None:
    path = tmp_path / "j"
    writer = subprocess.Popen(
        [sys.executable, str(WRITER), str(path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )
    assert writer.stdout is not None
    with writer, writer.stdout as heard:
        kill_after = random.Random(round_).randint(1, 3_000)  # seeded: a round can be run again
        last = 0
        for line in heard:
            last = int(line)
            if last == kill_after:
                writer.send_signal(signal.SIGKILL)
    content = read_journal(path)
    polls = [f["poll"] for f in content.frames if f["kind"] == "delivered"]
    assert list(range(len(polls))) == polls
    # One more is right: killed between the write and the line.
    assert len(polls) in (last, last + 1)
    # The kernel looks for a fatal signal between the pages of one write: what was not said yet may
    # be torn there, and nowhere else.
    pages = {size // resource.getpagesize() for size in (content.whole_bytes, path.stat().st_size)}
    assert 2 == len(pages) if content.torn else content.whole_bytes == path.stat().st_size


def test_a_cut_anywhere_is_torn_and_keeps_every_frame_before_it(tmp_path: Path) -> None:
    data = written(tmp_path / "whole").read_bytes()
    every = list(read_journal(tmp_path / "whole").frames)
    ends = {0, len(MAGIC)}
    cut = tmp_path / "cut"
    for length in range(len(data)):
        cut.write_bytes(data[:length])
        content = read_journal(cut)
        assert every[: len(content.frames)] == list(content.frames)
        assert content.torn == (content.whole_bytes < length)
        ends.add(content.whole_bytes)
    assert len(ends) == 5  # nothing, the magic bytes, the ends of all frames but the last


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_flipped_bit_is_noticed(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "j"
    path.unlink(missing_ok=True)
    good = written(path).read_bytes()
    expected = list(read_journal(path).frames)
    bit = data.draw(st.integers(len(MAGIC) * 8, len(good) * 8 - 1))
    bad = bytearray(good)
    bad[bit // 8] ^= 1 << bit % 8
    path.write_bytes(bad)
    content = read_journal(path)
    assert content.torn
    assert expected[: len(content.frames)] == list(content.frames)
    assert len(content.frames) < len(expected)


def test_frames_are_read_when_they_are_asked_for(tmp_path: Path) -> None:
    frames = read_journal(written(tmp_path / "j")).frames
    every = list(frames)

    assert ["header", "delivered", "delivered", "delivered"] == [each["kind"] for each in every]
    assert (every[0], every[-1]) == (frames[0], frames[-1])
    assert every[::-1] == list(reversed(frames))
    assert every[1:] == list(of_kinds(frames, "delivered"))
    assert every[1:] == list(of_kinds(every, "delivered"))
    assert [] == list(of_kinds(frames, "deliver"))
    with pytest.raises(IndexError):
        frames[len(every)]


def test_frames_of_a_file_that_has_changed_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "j")
    frames = read_journal(path).frames
    path.write_bytes(path.read_bytes()[:-5])

    for read in (lambda: list(frames), lambda: frames[-1]):
        with pytest.raises(NoData, match="has changed while it was read"):
            read()


def test_a_foreign_file_is_refused_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "j").write_bytes(b"PAR1 is no journal")
    for read in (read_journal, lambda path: tail_journal(path, 0)):
        with pytest.raises(NoData, match="is no journal of this version"):
            read(tmp_path / "j")


def test_no_file_is_no_data_but_nothing_to_follow_yet(tmp_path: Path) -> None:
    with pytest.raises(NoData, match="cannot read the journal"):
        read_journal(tmp_path / "none")
    assert tail_journal(tmp_path / "none", 0) == ([], 0)


def test_a_journal_is_never_shared(tmp_path: Path) -> None:
    written(tmp_path / "j")
    with pytest.raises(BadInput, match="exists already"):
        Journal(tmp_path / "j", "member-2")


def test_a_journal_is_followed_byte_by_byte(tmp_path: Path) -> None:
    data = written(tmp_path / "whole").read_bytes()
    expected = list(read_journal(tmp_path / "whole").frames)
    growing = tmp_path / "growing"
    seen = []
    offset = 0
    for length in range(len(data) + 1):
        growing.write_bytes(data[:length])
        frames, offset = tail_journal(growing, offset)
        seen += frames
    assert expected == seen
    assert len(data) == offset


def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j", "member-1")
    size = (tmp_path / "j").stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 40, hard))
    try:
        with pytest.raises(JournalError, match=r"only 40 of .* the disk is full"):
            journal.write("error", text="x" * 100)
        with pytest.raises(JournalError, match="cannot write the journal"):
            journal.write("error", text="x")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)
        journal.close()
    assert JournalError.exit_code == 3
    assert read_journal(tmp_path / "j").torn
