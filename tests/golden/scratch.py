"""Folders for a suite's files: all are removed when it ends."""
import tempfile

_all = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)   # a program that was killed may still be writing


def folder():
    return tempfile.mkdtemp(dir=_all.name)
