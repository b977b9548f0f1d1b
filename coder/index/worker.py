"""Parse batches of files in processes of our own, started so that neither a thread, nor a terminal, nor a hostile directory matters."""

import gc
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

from coder.index.parsing import Job, Parsed, Part, parse

SMALL_BYTES = 1_500_000
"""Less than this is parsed sooner than a process has started."""
BATCH_BYTES = 1_000_000
BATCHES = 4
"""Batches for each worker, where that makes larger ones: what is in many batches is entered many times."""
LARGEST_BATCH_BYTES = 4_000_000
MOST_WORKERS = 8
SCRIPT = "import sys; sys.path[:] = sys.argv[1:]; from coder.index.worker import serve; serve()"

Batch = Sequence[Job]
Allocate = Callable[[int], int]
"""Gives out so many document numbers in a row, and says the first."""


def parse_all(files: Sequence[Job], allocate: Allocate) -> Iterator[Part]:
    """Parse files, on all cores where that is worth it."""
    total = sum(size for size, *_ in files)
    workers = min(os.cpu_count() or 1, total // SMALL_BYTES + 1, MOST_WORKERS)
    batches = list(_batches(files, min(max(BATCH_BYTES, total // (workers * BATCHES)), LARGEST_BATCH_BYTES)))
    guarded = _guarded(allocate)
    if workers < 2:
        for batch in batches:
            parsed = parse(batch)
            yield parsed.part(guarded(parsed.documents))
        return
    idle: SimpleQueue[_Worker] = SimpleQueue()
    started = [_Worker() for _ in range(workers)]
    for worker in started:
        idle.put(worker)

    def one(batch: Batch) -> Part:
        worker = idle.get()
        try:
            return worker.part(batch, guarded)
        finally:
            idle.put(worker)

    try:
        with ThreadPoolExecutor(workers, thread_name_prefix="index") as pool:
            yield from pool.map(one, batches)
    finally:
        for worker in started:
            worker.end()


def _batches(files: Sequence[Job], most: int) -> Iterator[Batch]:
    batch: list[Job] = []
    room = most
    for file in files:
        batch.append(file)
        room -= file[0]
        if room < 0:
            yield batch
            batch, room = [], most
    if batch:
        yield batch


def _guarded(allocate: Allocate) -> Allocate:
    lock = threading.Lock()

    def guarded(count: int) -> int:
        with lock:
            return allocate(count)

    return guarded


class _Worker:
    """One process; where it fails, the work is done here."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", SCRIPT, *filter(None, sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=os.sep,
                start_new_session=True,
            )
        except OSError:
            return

    def part(self, batch: Batch, allocate: Allocate) -> Part:
        try:
            count = self._ask(batch)
            part = self._ask(allocate(count)) if isinstance(count, int) else None
            if isinstance(part, Part):
                return part
        except (OSError, EOFError, pickle.UnpicklingError):
            self.end()
        parsed = parse(batch)
        return parsed.part(allocate(parsed.documents))

    def _ask(self, question: object) -> object:
        if self._process is None or self._process.stdin is None or self._process.stdout is None:
            raise EOFError
        pickle.dump(question, self._process.stdin, protocol=pickle.HIGHEST_PROTOCOL)
        self._process.stdin.flush()
        return pickle.load(self._process.stdout)

    def end(self) -> None:
        """Leave no process behind; may be called twice."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def serve() -> None:
    """Answer batches with the number of their documents, and that with the part, until there are no more."""
    gc.disable()  # nothing here forms cycles, and there are millions of objects to look through
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    parsed = Parsed(found=[])
    while True:
        try:
            question = pickle.load(questions)
        except EOFError:
            return
        if isinstance(question, int):
            answer: object = parsed.part(question)
        else:
            parsed = parse(question)
            answer = parsed.documents
        pickle.dump(answer, answers, protocol=pickle.HIGHEST_PROTOCOL)
        answers.flush()
