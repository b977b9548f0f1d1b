"""Worker processes that parse batches of files, isolated from threads, terminal and working directory."""

import gc
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

from coder.index.parsing import IndexPart, Job, ParsedBatch, parse_files

SMALL_BYTES = 1_500_000
"""Less than this is parsed faster than a process starts."""
BATCH_BYTES = 1_000_000
BATCHES = 4
"""Batches for each worker, where that makes larger ones: terms are stored once per batch."""
LARGEST_BATCH_BYTES = 4_000_000
MOST_WORKERS = 8
SCRIPT = (
    "import sys; sys.path[:] = sys.argv[1:]; from coder.index.worker import serve_batches; serve_batches()"
)

Batch = Sequence[Job]
Allocate = Callable[[int], int]
"""Allocates so many consecutive document numbers and returns the first."""


def parse_in_workers(files: Sequence[Job], allocate: Allocate) -> Iterator[IndexPart]:
    """Parse files, on all cores where that pays off."""
    total = sum(size for size, *_ in files)
    workers = min(os.cpu_count() or 1, total // SMALL_BYTES + 1, MOST_WORKERS)
    batches = list(_batches(files, min(max(BATCH_BYTES, total // (workers * BATCHES)), LARGEST_BATCH_BYTES)))
    locked_allocate = _with_lock(allocate)
    if workers < 2:
        for batch in batches:
            parsed = parse_files(batch)
            yield parsed.number_documents(locked_allocate(parsed.document_count))
        return
    idle: SimpleQueue[_Worker] = SimpleQueue()
    all_workers = [_Worker() for _ in range(workers)]
    for worker in all_workers:
        idle.put(worker)

    def parse_batch(batch: Batch) -> IndexPart:
        worker = idle.get()
        try:
            return worker.part(batch, locked_allocate)
        finally:
            idle.put(worker)

    try:
        with ThreadPoolExecutor(workers, thread_name_prefix="index") as pool:
            yield from pool.map(parse_batch, batches)
    finally:
        for worker in all_workers:
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


def _with_lock(allocate: Allocate) -> Allocate:
    lock = threading.Lock()

    def locked_allocate(count: int) -> int:
        with lock:
            return allocate(count)

    return locked_allocate


class _Worker:
    """One process; where it fails, its batches are parsed in this process."""

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

    def part(self, batch: Batch, allocate: Allocate) -> IndexPart:
        """Parse a batch in the worker process, or here where it fails."""
        try:
            count = self._ask(batch)
            part = self._ask(allocate(count)) if isinstance(count, int) else None
            if isinstance(part, IndexPart):
                return part
        except (OSError, EOFError, pickle.UnpicklingError):
            self.end()
        parsed = parse_files(batch)
        return parsed.number_documents(allocate(parsed.document_count))

    def _ask(self, question: object) -> object:
        if self._process is None or self._process.stdin is None or self._process.stdout is None:
            raise EOFError
        pickle.dump(question, self._process.stdin, protocol=pickle.HIGHEST_PROTOCOL)
        self._process.stdin.flush()
        return pickle.load(self._process.stdout)

    def end(self) -> None:
        """Kill the process; may be called twice."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def serve_batches() -> None:
    """Answer each batch with its number of documents, and the following number with the part.

    Ends with the input.
    """
    gc.disable()  # nothing here forms reference cycles, and there are millions of objects to traverse
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    parsed = ParsedBatch(found=[])
    while True:
        try:
            question = pickle.load(questions)
        except EOFError:
            return
        if isinstance(question, int):
            answer: object = parsed.number_documents(question)
        else:
            parsed = parse_files(question)
            answer = parsed.document_count
        pickle.dump(answer, answers, protocol=pickle.HIGHEST_PROTOCOL)
        answers.flush()
