# SPDX-License-Identifier: MIT
"""What arguments may be, and the errors that name them. One rank."""

import array
import copy
import gc
import inspect
import pydoc

import numpy as np
import pytest

import gradwire


class Tensor:
    """An array that only has DLPack, as tensors of PyTorch."""

    def __init__(self, data, device=1):
        self.data, self.device = data, device

    def __dlpack__(self):
        return self.data.__dlpack__()

    def __dlpack_device__(self):
        return (self.device, 0)


def test_buffers_and_dlpack_are_not_copied(comm):
    numbers = array.array("d", [1, 2, 3])
    raw = bytearray(24)
    comm.allreduce(numbers, out=memoryview(raw).cast("d"))
    assert bytes(numbers) == bytes(raw)
    source, target = np.arange(6.0).reshape(2, 3), np.zeros((2, 3))
    comm.allreduce(Tensor(source), out=Tensor(target))
    assert (target == source).all()
    assert comm.allreduce(Tensor(source)).shape == (2, 3)
    assert comm.allgather(b"abc").tobytes() == b"abc"
    assert comm.allreduce(np.float32(4)) == 4 and comm.allreduce(np.array(5)).shape == ()


def test_tensors_of_pytorch(comm):
    torch = pytest.importorskip("torch")
    x = torch.arange(6.0)
    assert comm.allreduce(x, out=x) is x and x[5] == 5
    assert (comm.allreduce(x[2:]) == np.arange(2.0, 6.0)).all()
    for kind in (torch.bfloat16, torch.float16):
        y = torch.full((2, 3), 1.5, dtype=kind)
        assert comm.allreduce(y, out=torch.empty_like(y)).shape == (2, 3)
        bits = comm.allreduce(y)
        assert (bits.view("i2") == y.view(torch.int16).numpy()).all()
    assert comm.allreduce(torch.ones(0, 3)).shape == (0, 3)
    with pytest.raises(TypeError, match="^array: .* gradient"):
        comm.allreduce(torch.ones(1, requires_grad=True))
    with pytest.raises(ValueError, match="^array: the tensor is not contiguous"):
        comm.allreduce(torch.ones(3, 2).T)


def test_empty_is_shared_memory_until_its_last_array():
    made = gradwire.empty((2, 3), "f32")
    assert made.shape == (2, 3) and made.dtype == np.float32 and not made.any()
    assert made.ctypes.data % 4096 == 0
    row = made[1]
    del made
    gc.collect()
    row[:] = 1
    assert row.sum() == 3
    assert gradwire.empty(0).shape == (0,) and gradwire.empty(3, "bf16").dtype == np.uint16
    assert gradwire.empty(3, bool).dtype == bool
    with pytest.raises(gradwire.Error) as error:
        gradwire.empty(1 << 45)
    assert error.value.code in ("GW_ENOSPC", "GW_ENOMEM")


SQUARE = np.zeros((4, 4))
BAD = [
    (ValueError, "array: the array is not C-contiguous", lambda c: c.allreduce(SQUARE[:, 1])),
    (ValueError, "out: the array is not C-contiguous", lambda c: c.allreduce(np.zeros(4), out=SQUARE[:, 1])),
    (ValueError, "array: the tensor is not contiguous", lambda c: c.allreduce(Tensor(SQUARE.T))),
    (TypeError, "array: it is not in the memory of the CPU", lambda c: c.allreduce(Tensor(SQUARE, 2))),
    (TypeError, "array: dtype complex128 is not", lambda c: c.allreduce(np.zeros(2, complex))),
    (TypeError, "array: dtype >f8 is not", lambda c: c.allreduce(np.zeros(2, ">f8"))),
    (TypeError, "array: list is neither", lambda c: c.allreduce([1, 2])),
    (TypeError, "out: its type is f32, the input's f64", lambda c: c.allreduce(np.zeros(2), out=np.zeros(2, "f4"))),
    (ValueError, "out: it has 3 elements instead of 2", lambda c: c.allreduce(np.zeros(2), out=np.zeros(3))),
    (ValueError, "out: the array is read-only", lambda c: c.allreduce(b"ab", out=b"cd")),
    (ValueError, "out: it overlaps array", lambda c: c.allreduce(SQUARE.ravel()[:4], out=SQUARE.ravel()[2:6])),
    (ValueError, "out: it overlaps array; alltoallv has no form in place",
     lambda c: c.alltoallv(SQUARE[0], [4], [4], SQUARE[0])),
    (ValueError, "op: 'plus' is not one of", lambda c: c.allreduce(np.zeros(2), "plus")),
    (TypeError, "op: bor is for integers", lambda c: c.allreduce(np.zeros(2), "bor")),
    (TypeError, "op: sum is not for bool", lambda c: c.allreduce(np.zeros(2, bool))),
    (ValueError, "root: 1 is not a rank", lambda c: c.broadcast(np.zeros(2), 1)),
    (TypeError, "root: '0' is not an integer", lambda c: c.broadcast(np.zeros(2), "0")),
    (ValueError, "dest: -1 is not a rank", lambda c: c.send(np.zeros(2), -1)),
    (ValueError, "array: its shape is (2,); its first axis", lambda c: c.alltoall(np.zeros(2))),
    (ValueError, "counts: it has 2 numbers instead of one per rank, 1", lambda c: c.allgatherv(np.zeros(2), [2, 2])),
    (ValueError, "array: it has 2 elements instead of 3", lambda c: c.allgatherv(np.zeros(2), [3])),
    (ValueError, "out: it has 3 elements, and the blocks end at 4",
     lambda c: c.allgatherv(np.zeros(2), [2], np.zeros(3), displs=[2])),
    (ValueError, "dest: 0 is this rank", lambda c: c.send(np.zeros(2), 0)),
    (ValueError, "counts: -1 is not in", lambda c: c.allgatherv(np.zeros(2), [-1])),
    (TypeError, "counts: [2.0] is not a sequence of integers", lambda c: c.allgatherv(np.zeros(2), [2.0])),
    (ValueError, "out: there is no array of shape",
     lambda c: c.alltoallv(np.zeros(2), [2], [2], recv_displs=[1 << 61])),
    (ValueError, "algo: 'made-up' is not an algorithm of reduce;", lambda c: c.reduce(np.zeros(2), algo="made-up")),
    (ValueError, "algo: it is a plan of allreduce for 4 ranks, not of allreduce for 1",
     lambda c: c.allreduce(np.zeros(2), algo=gradwire.Plan.make("allreduce", "ring", 4))),
    (TypeError, "algo: int is not a gradwire.Plan", lambda c: c.allreduce(np.zeros(2), algo=5)),
    (TypeError, "dtype: nonsense is not one of", lambda c: c.allreduce(np.zeros(2), dtype="nonsense")),
    (TypeError, "array: a mask cannot be sent", lambda c: c.allreduce(np.ma.zeros(2))),
    (ValueError, "color: 1099511627776 is not in", lambda c: c.split(1 << 40)),
    (ValueError, "timeout: -1 s is not", lambda c: c.barrier(wait=False).wait(-1)),
    (ValueError, "timeout: nan s is not", lambda c: gradwire.Communicator(0, 1, timeout=float("nan"))),
    (ValueError, "wire: 'pigeon' is not one of shm", lambda c: gradwire.Communicator(0, 1, wire="pigeon")),
    (ValueError, "rank: -1 is not in", lambda c: gradwire.Communicator(-1, 1)),
    (TypeError, "events: int is not a gradwire.Events", lambda c: gradwire.Communicator(0, 1, events=5)),
    (TypeError, "other: NoneType is not", lambda c: c.progress_with(None)),
    (ValueError, "capacity: 0 is not in", lambda c: gradwire.Events(0)),
    (TypeError, "shape: 2.5 is not an integer", lambda c: gradwire.empty(2.5)),
    (ValueError, "shape: -1 is not in", lambda c: gradwire.empty((3, -1))),
    (ValueError, "shape: bytes: ", lambda c: gradwire.empty((1 << 40, 1 << 40))),
    (TypeError, "path: None is not a str or a path", lambda c: gradwire.Plan.load(None)),
    (TypeError, "plan: None is not a str", lambda c: gradwire.Plan.from_text(None)),
    (ValueError, "ranks: 8589934596 is not in", lambda c: gradwire.Plan.make("allreduce", "ring", (1 << 33) + 4)),
    (ValueError, "count: -1 is not in", lambda c: gradwire.Plan.make("allreduce", "ring", 4).price(-1)),
    (TypeError, "comm: NoneType is not", lambda c: gradwire.Plan.make("barrier", "dissemination", 4).run(None)),
    (TypeError, "a communicator cannot be copied", lambda c: copy.copy(c)),
    (TypeError, "array: its elements of 8 bytes cannot be bf16", lambda c: c.allreduce(np.zeros(2), dtype="bf16")),
]


@pytest.mark.parametrize("kind, sentence, call", BAD, ids=[b[1] for b in BAD])
def test_bad_arguments_are_named_and_harmless(comm, kind, sentence, call):
    with pytest.raises(kind) as error:
        call(comm)
    assert str(error.value).startswith(sentence)
    assert comm.allreduce(np.ones(1))[0] == 1


def test_a_closed_communicator_says_so():
    with gradwire.Communicator(0, 1) as made:
        pass
    with pytest.raises(ValueError, match="is closed"):
        made.barrier()
    with pytest.raises(RuntimeError, match=r"gradwire\.init"):
        gradwire.barrier()


def test_help_is_a_manual_page():
    for name in ("broadcast reduce allreduce gather scatter allgather reduce_scatter alltoall barrier "
                 "scan exscan gatherv scatterv allgatherv alltoallv send recv split").split():
        function = getattr(gradwire, name)
        assert "self" not in inspect.signature(function).parameters
        assert len(function.__doc__) > 100
    page = pydoc.render_doc(gradwire.allreduce, renderer=pydoc.plaintext)
    assert "array: Any, op: str = 'sum', out: Any = None" in page and "in place" in page
    for name in dir(gradwire):
        if not name.startswith("_") and callable(getattr(gradwire, name)):
            assert getattr(gradwire, name).__doc__, name


def test_errors_have_fields():
    error = gradwire.Error(-8, "allreduce op 12: rank 0 waits for rank 3 to begin its call: "
                           "rank 3 (pid 4711) died")
    assert (error.code, error.call, error.op, error.rank, error.peer) == ("GW_ELOST", "allreduce", 12, 0, 3)
    error = gradwire.Error(-8, "allreduce op 22: rank 2 waits for rank 0, step 1, chunk 2, slice 0: "
                           "rank 1 lost: its connection ended")
    assert (error.rank, error.peer) == (2, 1)


def test_every_public_function_has_type_hints_and_help():
    """Types of all parameters and of the result; a docstring."""
    for name, made in vars(gradwire).items():
        if name.startswith("_") or not getattr(made, "__module__", "").startswith("gradwire"):
            continue
        functions = [made]
        if inspect.isclass(made):
            functions = [value.__func__ if isinstance(value, classmethod) else value
                         for key, value in vars(made).items()
                         if inspect.isfunction(getattr(value, "__func__", value)) and
                         (key == "__init__" or not key.startswith("_"))]
        for function in functions:
            where = f"{name}: {function.__qualname__}"
            assert function.__doc__ or function.__name__ == "__init__", where
            hints = getattr(function, "__annotations__", {})
            for parameter in list(inspect.signature(function).parameters):
                assert parameter == "self" or parameter == "cls" or parameter in hints, \
                    f"{where}: {parameter}"
            assert "return" in hints or function.__name__ == "__init__", where
