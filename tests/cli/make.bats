#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The Makefile rebuilds everything that has changed, and only that: a new source
# file, a lost object, an optional library that was installed later. The
# compiler and the archiver are stubs that write the name of their result, so a
# whole build takes seconds.

# The built tree of all tests.
setup_file() {
    local root
    root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    cd "$BATS_FILE_TMPDIR" || exit
    mkdir tree
    cd tree || exit
    cp -r "$root/Makefile" "$root/.ci" .
    mkdir lib
    cp -r "$root"/lib/{base,learn,wire} lib
    mkdir -p tests/unit
    cat >compiler <<'END'
#!/bin/sh
while [ "$1" != -o ]; do shift; done
echo "$2" >"$2"
echo "$2" >>made
END
    cat >archiver <<'END'
#!/bin/sh
echo "$2" >"$2"
echo "$2" >>made
END
    chmod +x compiler archiver
    # Only these libraries are there, whatever the machine has.
    library libzmq jansson expat raft libuv smartcols ncursesw readline libsodium
    export PKG_CONFIG_LIBDIR=pc
    build
}

setup() {
    cp -a "$BATS_FILE_TMPDIR/tree/." "$BATS_TEST_TMPDIR"
    cd "$BATS_TEST_TMPDIR" || exit
    : >made
}

# make_here TARGET...: with the stubs.
make_here() {
    make CC=./compiler AR=./archiver B=b "$@"
}

# build: makes the archive and the shared library; the file `made` lists the
# results.
build() {
    : >made
    make_here -s b/libgradwire.a b/libgradwire.so.1.0.0 >/dev/null
    sort -o made made
}

# library NAME...: adds modules of pkg-config.
library() {
    local name
    mkdir -p pc
    for name; do
        printf 'Name: %s\nDescription: a stub\nVersion: 99\nCflags: -DSTUB\nLibs: -lstub\n' \
            "$name" >"pc/$name.pc"
    done
}

@test "make: without a change, nothing is built" {
    [ "$(find b -name '*.o' | wc -l)" -gt 100 ]
    build
    [ ! -s made ]
}

@test "make: a new source file and what depends on it" {
    echo >lib/base/added.c
    build
    [ "$(cat made)" = "$(printf '%s\n' b/lib/base/added.o b/libgradwire.a b/libgradwire.so.1.0.0)" ]
    rm lib/base/added.c
    build
    [ "$(cat made)" = "$(printf '%s\n' b/libgradwire.a b/libgradwire.so.1.0.0)" ]
}

@test "make: an object that was lost" {
    rm b/lib/base/clock.o
    build
    [ "$(cat made)" = "$(printf '%s\n' b/lib/base/clock.o b/libgradwire.a b/libgradwire.so.1.0.0)" ]
}

@test "make: RDMA comes later" {
    library libibverbs librdmacm
    build
    grep -q b/lib/wire/verbs/verbs_open.o made
    run grep verbs_none made
    [ -z "$output" ]
    grep -q b/libgradwire.a made
}

@test "make: with a different compiler or flags, everything is built again" {
    everything=$(find lib -name '*.c' | wc -l)
    : >made
    make_here -s OPT=-O3 b/libgradwire.a >/dev/null
    [ "$(grep -c '\.o$' made)" -gt $((everything * 9 / 10)) ]
}

@test "make demo builds every tool, for the labs after it" {
    for tool in collrun pipebench psnode ringctl ringtop; do
        mkdir -p cmd/$tool
        echo >cmd/$tool/main.c
    done
    mkdir -p cmd/simcluster/common
    echo >cmd/simcluster/common/event.c
    make_here -n V=1 demo >planned
    for tool in collrun pipebench psnode ringctl ringtop; do
        grep -q -- "-o b/$tool " planned
    done
}
