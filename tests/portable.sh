#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# portable.sh [BUILD [VARIANT...]]: a sample of the tests (SUITES, FILES) under
# conditions of other machines: another compiler, other optimisation, another
# user, little shared memory, a home that cannot be written, a long $TMPDIR, one
# core, other locales. One line per variant: pass, fail or skip, and its
# seconds; a failure shows the end of its log. Fails if any variant does.
# shellcheck disable=SC2317 # variants are called by name
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
build=$(realpath -m "${1:-build}")
shift $(($# > 0))
SUITES=${SUITES:-base,output,command,launch parts,launch,wire,messenger,rendezvous,coll over shm}
FILES=${FILES:-cli/run.bats cli/simring.bats cli/pipebench_run.bats fault/supervisor.bats}
work=$(mktemp -d)
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM

# sample [PREFIX...]: runs the tests, with the tools of $B, in the folder $root;
# PREFIX, such as env or taskset, precedes each command.
sample() {
    local suite file suites bad=0
    IFS=, read -r -a suites <<<"$SUITES"
    for suite in "${suites[@]}"; do
        "$@" env CK_RUN_SUITE="$suite" CK_DEFAULT_TIMEOUT=300 "$B/unit" | tee "$work/suite" || bad=1
        grep -q 'Checks: [1-9]' "$work/suite" || { echo "no suite $suite"; bad=1; }
    done
    for file in $FILES; do
        "$@" env B="$B" CC="${CC:-gcc}" COLLRUN="$B/collrun" \
            bats --print-output-on-failure "$root/tests/$file" || bad=1
    done
    return "$bad"
}

skip() {
    echo "skipped: portable: $*"
    exit 77
}

built() { # NAME MAKE-ARGUMENTS...
    B=$build/portable/$1
    make --no-print-directory "${@:2}" B="$B" all "$B/unit" && sample env
}

privileged() {
    [ "$(id -u)" = 0 ] || skip "needs root"
}

variant_clang() {
    command -v clang || skip "clang is not installed"
    CC=clang built clang CC=clang
}

variant_O0() { built O0 OPT="-O0 -g"; }
variant_O3() { built O3 OPT="-O3 -g"; }

# The tree is copied, since that user may read neither ours nor its parents.
variant_unprivileged() {
    privileged
    mkdir -p "$work/clone/build" "$work/clone/tmp"
    cp -a .ci cmd lib labs tests man Makefile README.md "$work/clone"
    cp -a "$B"/{collrun,psnode,ringctl,pipebench,ringtop,unit,sim} "$B"/lib* "$work/clone/build"
    chown -R 65534:65534 "$work/clone"
    B=$work/clone/build root=$work/clone
    cd "$root"
    sample setpriv --reuid 65534 --regid 65534 --clear-groups \
        env HOME="$root" TMPDIR="$root/tmp"
}

variant_small_shm() {
    privileged
    sample unshare -m sh -c 'mount -t tmpfs -o size=64m none /dev/shm && exec "$@"' sh
}

variant_readonly_home() { sample env HOME=/proc; }

# Longer than the address of a Unix socket may be.
variant_long_tmpdir() {
    local long=$work/tmp
    while [ ${#long} -lt 200 ]; do long+=/a-folder-of-a-long-name; done
    mkdir -p "$long"
    sample env TMPDIR="$long"
}

variant_one_core() { sample taskset -c 0; }
variant_locale_C() { sample env LC_ALL=C LANG=C; }

# in_locale NAME: made here, so that it need not be installed.
in_locale() {
    mkdir -p "$work/locales"
    localedef -i "$1" -f UTF-8 "$work/locales/$1.UTF-8" ||
        skip "there is no localedef with $1 (Debian: locales)"
    sample env LOCPATH="$work/locales" LC_ALL="$1.UTF-8" LANG="$1.UTF-8"
}
variant_locale_tr() { in_locale tr_TR; }
variant_locale_de() { in_locale de_DE; }

ALL="locale_C locale_de locale_tr readonly_home long_tmpdir one_core small_shm
    unprivileged clang O0 O3"
bad=0
[ $# -gt 0 ] || read -r -d '' -a variants <<<"$ALL" || set -- "${variants[@]}"
for variant; do
    declare -F "variant_$variant" >/dev/null || { echo "portable.sh: no variant $variant"; exit 64; }
    begin=$SECONDS status=0
    (
        B=$build
        set +e
        "variant_$variant"
    ) >"$work/log" 2>&1 || status=$?
    case $status in
    0) word=pass ;;
    77) word="skip ($(sed -n 's/^skipped: portable: //p' "$work/log"))" ;;
    *) word=FAIL bad=1 ;;
    esac
    printf '%-16s %5d s  %s\n' "$variant" $((SECONDS - begin)) "$word"
    [ $status = 0 ] || [ $status = 77 ] || grep -vE '^ok |^100%' "$work/log" | tail -n 60
done
exit $bad
