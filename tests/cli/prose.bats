#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# .ci/prose finds the habits of language that should be avoided and keeps their
# budget; tests/tools/messages prints and samples the messages of the tree.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir cmd lib man labs tests
    mkdir .ci tests/tools
    cp "$BATS_TEST_DIRNAME"/../../.ci/{prose,prose.awk,sentences.awk} .ci
    cp "$BATS_TEST_DIRNAME"/../tools/messages* tests/tools
    printf 'The rank is alive.\n' >README.md
    touch Makefile
}

# found FILE:LINE PATTERN
found() {
    echo "$output" | grep -q "^$1: $2: " || { echo "$1: no $2 in $output"; return 1; }
}

@test "each habit is found on its line, across lines, and nothing else" {
    cat >README.md <<'END'
# Who is asked

The leader tells its
followers. It is printed anew, a row
a worker. What is lost
is sent again; nobody waits; by now it stands beside the others for good.
A name that is no number lies here, it says.

```sh
$ echo nobody
```

What is a plan? Users who ask, `nobody` and the longest name of a rank stand for
others, there is no rank left, and a slow worker falls behind.
END
    run -1 .ci/prose README.md
    found README.md:1 who
    found README.md:3 tells
    found README.md:4 anew
    found README.md:4 a-X-a-Y
    found README.md:5 what
    for habit in semicolons nobody by-now stands behind for-good; do
        found README.md:6 $habit
    done
    for habit in is-no lies says; do
        found README.md:7 $habit
    done
    [ "$(echo "$output" | wc -l)" = 14 ]
}

@test "of C comments and strings are read, of man pages the text" {
    cat >lib/x.c <<'END'
/* It is
 * anew. */
int anew(void) { return gw_fail(why, GW_EINVAL, "%s tells "
    "nobody", "anew"); }
END
    cat >man/x.1 <<'END'
.Sh SYNOPSIS
.Nm nobody
.Sh DESCRIPTION
.Bd -literal
nobody
.Ed
.Nm
tells
.Ar N ;
END
    yes , and a word more | head -n 9 >>man/x.1
    run -1 .ci/prose lib/x.c man/x.1
    found lib/x.c:2 anew
    found lib/x.c:3 tells
    found lib/x.c:3 nobody
    found man/x.1:8 tells
    found man/x.1:8 long
    [ "$(echo "$output" | wc -l)" = 6 ] # "anew" is a string, too
}

@test "a budget falls and never rises; moved files keep theirs" {
    echo "It is printed anew, and nobody waits." >labs/a.md
    .ci/prose >table
    grep -q '^sum .* 2$' table
    echo "Nobody reads." >>labs/a.md
    run -1 .ci/prose
    [[ $output = *"labs/a.md: 3, its budget is 2"* ]]
    run -1 .ci/prose --update
    echo "It is printed anew." >labs/a.md
    .ci/prose
    mv labs/a.md labs/b.md
    .ci/prose --update
    grep -x '1 labs/b.md' .ci/prose.budget
    run -1 grep labs/a.md .ci/prose.budget
    echo "Nobody waits." >labs/c.md
    run -1 .ci/prose
    [[ $output = *"1 more than the budgets together allow"* ]]
}

@test "messages are printed by kind with their lines, and sampled by a seed" {
    cat >cmd/x.c <<'END'
static struct option_spec spec[] = {
    {"ranks", 'n', OPTION_UNSIGNED, &ranks, "N", "Ranks. Default: 4.", NULL}};
    return gw_fail(why, GW_EINVAL,
                   "--ranks must be at least 1, "
                   "not %u", ranks);
    puts("three plain words");
    return gw_fail(why, code, "%s", text);
END
    printf '.Sh DESCRIPTION\n.It one two three four five\nIt draws the\n.Ar plan\nof a collective.\n' >man/x.1
    run -0 tests/tools/messages
    [ "${lines[0]}" = "cmd/x.c:2: help: Ranks. Default: 4." ]
    [ "${lines[1]}" = "cmd/x.c:4: fail: --ranks must be at least 1, not %u" ]
    [ "${lines[2]}" = "man/x.1:3: man: It draws the plan of a collective." ]
    [ "${#lines[@]}" = 3 ]
    run -0 tests/tools/messages -k text
    [ "$output" = "cmd/x.c:6: text: three plain words" ]
    cp "$BATS_TEST_DIRNAME"/../../man/*.1 man
    for seed in 3 4; do
        tests/tools/messages --sample 20 --seed $seed >sample.$seed
        tests/tools/messages --sample 20 --seed $seed | cmp - sample.$seed
        [ "$(sort -u sample.$seed | wc -l)" = 20 ]
    done
    run -1 cmp -s sample.3 sample.4
}
