# SPDX-License-Identifier: MIT
"""Compares the structs and functions that the Python package declares with the C headers.

    GRADWIRE_LIBRARY=FILE CC=cc python3 layout.py

It needs neither NumPy nor pytest, so that `make check` finds a header that has changed.
"""

import ctypes
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "lib/include"


def declared():
    """The module gradwire._library, without the package around it."""
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location(
        "gradwire_library", ROOT / "lib/python/gradwire/_library.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def output_of(body):
    """What a C program with that body of main prints."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "layout.c"), Path(folder, "layout")
        source.write_text("#include <gradwire/gradwire.h>\n#include <stdio.h>\n"
                          f"int main(void)\n{{\n{body}return 0;\n}}\n")
        subprocess.run([*os.environ.get("CC", "cc").split(), "-I", INCLUDE, "-o", program, source],
                       check=True)
        return subprocess.run([program], check=True, text=True, stdout=subprocess.PIPE).stdout


def wrong_structs(library):
    """Sizes and offsets that differ from the compiler's."""
    body, ours = "", []
    for name, made in library.structs.items():
        body += f'printf("{name} %zu\\n", sizeof(struct {name}));\n'
        ours.append(f"{name} {ctypes.sizeof(made)}")
        for field, _ in made._fields_:
            at = getattr(made, field)
            body += (f'printf("{name}.{field} %zu %zu\\n", offsetof(struct {name}, {field}), '
                     f"sizeof(((struct {name} *)0)->{field}));\n")
            ours.append(f"{name}.{field} {at.offset} {at.size}")
    theirs = output_of(body).splitlines()
    return [f"{mine}: in C {other}" for mine, other in zip(ours, theirs) if mine != other]


def fits(word, parameter):
    """Whether a word of _library.py names the type of a parameter."""
    plain = "*" not in parameter and "[" not in parameter
    return {"pointer": not plain, "text": "const char *" in parameter,
            "u64": plain and "uint64_t" in parameter, "u32": plain and "uint32_t" in parameter,
            "size": plain and "size_t" in parameter,
            "unsigned": plain and "unsigned" in parameter,
            "f64": plain and "double" in parameter,
            "int": plain and ("enum " in parameter or "int " in parameter),
            "err": plain and "enum gw_err" in parameter}[word]


def wrong_functions(library):
    """Functions with other parameters or results than the headers'."""
    headers = "".join(path.read_text() for path in (INCLUDE / "gradwire").glob("*.h"))
    headers = re.sub(r"/\*.*?\*/", "", headers, flags=re.S)
    wrong = []
    for line in library._FUNCTIONS.strip().split("\n"):
        result, name, *arguments = line.split()
        found = re.search(r"GW_API[^;(]*?([\w \n*]*?)\b" + name + r"\(([^;]*?)\)\s*(GW_\w+.*)?;",
                          headers)
        parameters = found[2].split(",") if found and found[2].strip() != "void" else []
        if not found or len(parameters) != len(arguments) or \
                not all(map(fits, arguments, parameters)) or \
                found[1].rstrip().endswith("*") != (result in ("pointer", "text")):
            wrong.append(f"{line}: in C {found[0] if found else 'missing'}")
    return wrong


if __name__ == "__main__":
    library = declared()
    wrong = wrong_structs(library) + wrong_functions(library)
    print(*wrong, sep="\n")
    sys.exit(1 if wrong else 0)
