# SPDX-License-Identifier: MIT
"""The library of C++ in which the backend is."""

import atexit
import os
from functools import lru_cache
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

import torch  # the libraries that the extension needs

from .. import _library  # noqa: F401  libgradwire.so, before the extension


@lru_cache()
def extension() -> Any:
    """$GRADWIRE_TORCH, or the file in the same folder, or the one that `make torch` has
    built with $GRADWIRE_LIBRARY."""
    path = os.path.join(os.path.dirname(__file__), "_torch.so")
    built = os.path.join(os.path.dirname(os.environ.get("GRADWIRE_LIBRARY", "")), "torch/_torch.so")
    if not os.path.exists(path) and os.path.exists(built):
        path = built
    path = os.environ.get("GRADWIRE_TORCH", path)
    if not os.path.exists(path):
        raise ImportError(
            f"gradwire.torch: no {path}; build it for torch {torch.__version__} "
            "with `make torch`"
        )
    spec = spec_from_file_location("_torch", path, loader=ExtensionFileLoader("_torch", path))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    atexit.register(module.close_all)
    return module
