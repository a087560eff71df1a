#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The Makefile rebuilds everything that has changed, and only that: a new source
# file, a lost object, an optional library that was installed later. The
# compiler and the archiver are stubs that write the name of their result, so a
# whole build takes seconds.

setup() {
    root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    cd "$BATS_TEST_TMPDIR" || exit
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
    build
}

# build: makes the archive and the shared library; the file `made` lists the
# results.
build() {
    : >made
    make -s CC="$PWD/compiler" AR="$PWD/archiver" B=b b/libgradwire.a b/libgradwire.so.1.0.0 >/dev/null
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
    export PKG_CONFIG_PATH=$PWD/pc
}

@test "make: without a change, nothing is built" {
    [ "$(grep -c . made)" -gt 100 ]
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

@test "make: OpenBLAS comes later" {
    library openblas
    build
    [ "$(grep -c b/lib/learn/ made)" = "$(find lib/learn -name '*.c' | wc -l)" ]
    grep -q b/libgradwire.so.1.0.0 made
    run grep b/lib/base/ made
    [ -z "$output" ]
    grep -q -e -DGW_HAVE_BLAS b/config.mk
}

@test "make: RDMA comes later" {
    pkg-config --exists libibverbs && skip "libibverbs is installed, so it cannot come later"
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
    make -s CC="$PWD/compiler" AR="$PWD/archiver" OPT=-O3 B=b b/libgradwire.a >/dev/null
    [ "$(grep -c '\.o$' made)" -gt $((everything * 9 / 10)) ]
}

@test "make demo builds every tool, for the labs after it" {
    for tool in collrun pipebench psnode ringctl ringtop; do
        mkdir -p cmd/$tool
        echo >cmd/$tool/main.c
    done
    mkdir -p cmd/simcluster/common
    echo >cmd/simcluster/common/event.c
    make -n V=1 CC="$PWD/compiler" AR="$PWD/archiver" B=b demo >planned
    for tool in collrun pipebench psnode ringctl ringtop; do
        grep -q -- "-o b/$tool " planned
    done
}
