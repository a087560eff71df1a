# SPDX-License-Identifier: MIT
"""Arrays of the caller as addresses, without copies; and shared memory."""

import ctypes
import math
from typing import Any, Optional, Tuple

import numpy as np

from ._checks import COUNT_MAX, whole
from ._errors import Error
from ._library import C, structs

# In the order of enum gw_dtype; bf16 has no NumPy type of its own.
_KINDS = "i1 i2 i4 i8 u1 u2 u4 u8 f2 bf16 f4 f8".split()
BF16 = _KINDS.index("bf16")
_NUMBERS = {np.dtype(k): i for i, k in enumerate(_KINDS) if i != BF16}
_NUMBERS[np.dtype(bool)] = U8 = _KINDS.index("u1")
NAMES = [C.gw_dtype_name(i).decode() for i in range(len(_KINDS))]
_DLPACK = {(0, 8): 0, (0, 16): 1, (0, 32): 2, (0, 64): 3, (1, 8): 4,
           (1, 16): 5, (1, 32): 6, (1, 64): 7, (2, 16): 8, (4, 16): 9,
           (2, 32): 10, (2, 64): 11, (6, 8): U8}
SIZES = [2 if k == "bf16" else np.dtype(k).itemsize for k in _KINDS]


def number_of(dtype: Any) -> int:
    """The number of a type: "f32", "bf16", numpy.float32, "float32"..."""
    if isinstance(dtype, str) and dtype in NAMES:
        return NAMES.index(dtype)
    if str(dtype) in ("bfloat16", "torch.bfloat16"):
        return BF16
    try:
        return _NUMBERS[np.dtype(dtype)]
    except (KeyError, TypeError):
        raise TypeError(f"dtype: {dtype} is not one of {' '.join(NAMES)}") from None


def numpy_type(number: int) -> np.dtype:
    """The NumPy type of that number; bf16 is uint16, its bits."""
    return np.dtype("u2" if number == BF16 else _KINDS[number])


class View:
    """The memory of an argument: C-contiguous, at `address`. `owner` keeps it."""

    __slots__ = ("address", "count", "type", "shape", "dtype", "owner", "array")

    def __init__(self, address, shape, number, dtype, owner, array):
        self.address, self.shape, self.type = address, shape, number
        self.dtype, self.owner, self.array = dtype, owner, array
        self.count = 1
        for length in shape:
            self.count *= length

    @property
    def bytes(self) -> int:
        return self.count * SIZES[self.type]


def view(argument: Any, name: str, dtype: Any = None, writable=False) -> View:
    """The memory of a numpy.ndarray, of an object with the buffer protocol, or
    of one with __dlpack__ on the CPU. `dtype` overrides the type of elements of
    the same size: "bf16" for an array of uint16. TypeError, ValueError: the
    sentence begins with `name`."""
    if isinstance(argument, np.ndarray):
        made = _of_array(argument, argument, name, writable)
    elif hasattr(argument, "__dlpack__") and not isinstance(argument, np.generic):
        made = _of_dlpack(argument, name)
    else:
        try:
            array = np.asarray(memoryview(argument))
        except (TypeError, ValueError):
            raise TypeError(f"{name}: {type(argument).__name__} is neither a numpy.ndarray "
                            "nor has it a buffer or __dlpack__") from None
        made = _of_array(array, argument, name, writable)
    if dtype is not None:
        number = number_of(dtype)
        if SIZES[number] != SIZES[made.type]:
            raise TypeError(f"{name}: its elements of {SIZES[made.type]} bytes "
                            f"cannot be {NAMES[number]}")
        made.type = number
    return made


def _of_array(array, owner, name, writable):
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"{name}: a mask cannot be sent; pass array.filled()")
    number = _NUMBERS.get(array.dtype)
    if number is None:
        if array.dtype.name != "bfloat16":
            raise TypeError(f"{name}: dtype {array.dtype} is not supported; "
                            f"use one of {' '.join(NAMES)}")
        number = BF16
    if not array.flags.c_contiguous:
        raise ValueError(f"{name}: the array is not C-contiguous; "
                         "pass numpy.ascontiguousarray of it")
    if writable and not array.flags.writeable:
        raise ValueError(f"{name}: the array is read-only")
    return View(array.ctypes.data, array.shape, number, array.dtype, owner, array)


class _DLTensor(ctypes.Structure):
    """DLPack's struct DLTensor (dlpack.h, version 0.x)."""

    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
_CPU = 1


def _of_dlpack(argument, name):
    """The capsule is not renamed, so it frees its tensor itself with the view."""
    try:
        if argument.__dlpack_device__()[0] != _CPU:
            raise TypeError("it is not in the memory of the CPU")
        capsule = argument.__dlpack__()
    except Exception as error:
        raise TypeError(f"{name}: {error}") from error
    t = _DLTensor.from_address(_pointer_of(capsule, b"dltensor"))
    number = _DLPACK.get((t.code, t.bits)) if t.lanes == 1 else None
    if number is None:
        raise TypeError(f"{name}: its type is not one of {' '.join(NAMES)}")
    shape = tuple(t.shape[i] for i in range(t.ndim))
    step = 1
    for i in reversed(range(t.ndim)):
        if t.strides and shape[i] > 1 and t.strides[i] != step and 0 not in shape:
            raise ValueError(f"{name}: the tensor is not contiguous")
        step *= shape[i]
    dtype = np.dtype(bool) if t.code == 6 else numpy_type(number)
    return View((t.data or 0) + t.byte_offset, shape, number, dtype,
                (capsule, argument), argument)


class _Shared:
    """Memory of gw_alloc, which lives as long as an array refers to it."""

    def __init__(self, shape, dtype):
        why = structs["gw_error"]()
        size = math.prod(shape) * dtype.itemsize
        self.address = C.gw_alloc(max(1, whole("shape: bytes", size, high=2**63)),
                                  ctypes.byref(why))
        if not self.address:
            raise Error(why.code, why.text.decode())
        self.__array_interface__ = {"data": (self.address, False), "shape": shape,
                                    "typestr": dtype.str, "version": 3}

    def __del__(self):
        if getattr(self, "address", None):
            C.gw_free(self.address)
            self.address = None


def empty(shape: Any, dtype: Any = "f64") -> np.ndarray:
    """Returns an array of zeros in memory that the peers of the host can map.

    Over shared memory, collectives read and store such arrays in place; other
    memory costs a copy. It is freed with the last array that refers to it.

    Args:
        shape: an integer or a tuple of integers.
        dtype: a NumPy type or one of "i8" to "f64"; "bf16" gives uint16.
    Raises:
        Error: GW_ENOSPC, GW_ENOMEM: there is not so much memory.
    """
    lengths = shape if isinstance(shape, (tuple, list)) else (shape,)
    kind = np.dtype(bool) if dtype in (bool, "bool") else numpy_type(number_of(dtype))
    return np.asarray(_Shared(tuple(whole("shape", n, high=COUNT_MAX) for n in lengths), kind))


def result(out: Any, like: View, shape: Tuple[int, ...], dtype: Any) -> Tuple[Any, View]:
    """The argument `out`, or a new array of that shape; and its memory."""
    made: Optional[Any] = out
    if made is None:
        try:
            made = np.empty(shape, like.dtype if like.dtype is not None else numpy_type(like.type))
        except ValueError:  # more than an address space
            raise ValueError(f"out: there is no array of shape {shape}") from None
    memory = view(made, "out", dtype, writable=True)
    if like.type == BF16 and NAMES[memory.type] == "u16":
        memory.type = BF16  # as its bits
    if memory.type != like.type:
        raise TypeError(f"out: its type is {NAMES[memory.type]}, the input's {NAMES[like.type]}")
    return made, memory
