#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The Python package as far as Python alone can test it: `make check-python` has
# the rest, with NumPy and pytest.

setup() {
    cd "$BATS_TEST_DIRNAME/../.." || return 1
    command -v python3 >/dev/null || skip "python3 is not installed"
    export PYTHONDONTWRITEBYTECODE=1
}

@test "the structs and functions that the package declares are those of the headers" {
    [ -z "${SAN:-}" ] || skip "sanitizers want to be linked into the program"
    GRADWIRE_LIBRARY=$(realpath "${B:-build}")/libgradwire.so python3 tests/python/layout.py
}

@test "the sources of the package and of its tests are programs of Python" {
    python3 -W error - lib/python/gradwire/*.py lib/python/gradwire/torch/*.py \
        tests/python/*.py tests/python/programs/*.py tests/torch/*.py labs/programs/*.py \
        labs/2[78]-*/*.py labs/2[78]-*/*/*.py <<'EOT'
import sys
for path in sys.argv[1:]:
    with open(path) as source:
        compile(source.read(), path, "exec")
EOT
}
