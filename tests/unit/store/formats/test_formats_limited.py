"""Files that unpack to far more than their size, read in a child process (row 62 of docs/reliability.md)."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile

import pytest

from store.formats import NPZ, PARQUET, Unreadable
from store.formats.image import ImageRefused, read_image
from store.formats.limited import MEMORY_BYTES, run_limited
from tests.support.bombs import dictionary_bomb, pixel_bomb, words_bomb

MIB = 1 << 20


MEASURED = """
import io, json, resource, sys, tempfile
from store.formats import Unreadable
from store.formats.image import read_image
from store.formats.limited import run_limited
content, order = sys.stdin.buffer.read(), json.loads(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    if order is None:
        read_image(content)
    else:
        with tempfile.TemporaryFile() as file:
            file.write(content)
            run_limited("inspect", file, **order)
    how = "read"
except Unreadable as refused:
    how = str(refused)
self, child = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print(json.dumps([how, self - before, child]))
"""


# Row 62 of docs/reliability.md: at c37b512 a Parquet file of 283 bytes took 1.4 GB in the process that answers
# requests.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "order", "how"),
    [
        (dictionary_bomb, {"purpose": "table", "media_type": PARQUET}, "more than 384 MiB of memory"),
        (words_bomb, {"purpose": "embedding", "media_type": NPZ}, "more than 384 MiB of memory"),
        (lambda: pixel_bomb(6_000, 6_000), None, "read"),
    ],
    ids=["parquet", "npz", "png"],
)
def test_a_decompression_bomb_uses_limited_memory_in_the_child_process_and_little_in_the_parent(content, order, how):
    # guards against eb55f1e, where 283 bytes of Parquet took 1.4 GB in the process of the API
    bomb = content()
    assert len(bomb) < 3 * MIB
    command = [sys.executable, "-c", MEASURED, json.dumps(order)]
    done = subprocess.run(command, input=bomb, capture_output=True, check=True)
    told, grown_kib, child_kib = json.loads(done.stdout)
    assert how in told
    assert grown_kib * 1024 < 50 * MIB
    assert child_kib * 1024 < MEMORY_BYTES + 200 * MIB  # the imported libraries need memory in addition to the limit


def test_a_task_in_a_child_process_returns_its_result_or_raises_its_error():
    with tempfile.TemporaryFile() as file:
        file.write(b"n,who\n1,a\n2,b\n")
        summary = run_limited("inspect", file, purpose="table", media_type="text/csv")
        rows = run_limited("rows", file, media_type="text/csv", summary=summary, sample=[1])
        assert (summary["rows"], rows) == (2, [{"n": 2, "who": "b"}])
        file.write(b"3\n")
        with pytest.raises(Unreadable, match="line 4") as refused:
            run_limited("inspect", file, purpose="table", media_type="text/csv")
        assert (refused.value.line, refused.value.code) == (4, "unreadable-upload")


def test_a_damaged_large_image_is_refused_with_the_reason():
    with pytest.raises(ImageRefused) as refused:
        read_image(pixel_bomb(3_000, 3_000)[:-40])
    assert refused.value.code == "damaged-image"
