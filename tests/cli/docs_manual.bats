#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Every command of the manual pages runs.

load docs

@test "every command of the manual pages runs" {
    for page in "$ROOT"/man/*.[1-8]; do
        run_commands "man/${page##*/}"
        [[ $page = *.[357] ]] || [ -s examples/commands ]
    done
}
