#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# make install from the view of a packager and a user: all files are below
# DESTDIR, an external program finds the library by pkg-config and all-reduces
# with it, and make uninstall removes exactly the installed files.

setup_file() {
    cd "$BATS_TEST_DIRNAME/../.." || return 1
    export DEST=$BATS_FILE_TMPDIR/dest
    export B=${B:-build}
    unset MAKEFLAGS MAKELEVEL MFLAGS
    make -s "B=$B" install PREFIX=/usr DESTDIR="$DEST" >&2
    export LIB=$DEST/usr/lib
}

@test "library, headers, tools, pages, completion and plans are there" {
    cd "$DEST/usr"
    for file in lib/libgradwire.a lib/libgradwire.so lib/libgradwire.so.1 \
        lib/pkgconfig/gradwire.pc include/gradwire/gradwire.h bin/collrun \
        share/man/man1/collrun.1 share/man/man3/gradwire-coll.3 \
        share/man/man5/gradwire-plan.5 share/man/man7/gradwire.7 \
        share/bash-completion/completions/collrun \
        share/gradwire/plans/ring-allreduce.plan \
        share/gradwire/nets/digits.net \
        share/gradwire/plugins/two_level.c \
        share/gradwire/topologies/racks.topo; do
        [ -s "$file" ] || { echo "no $file"; return 1; }
    done
    bin/collrun verify share/gradwire/plans/ring-allreduce.plan -n 5
    bash -n share/bash-completion/completions/collrun
}

@test "the soname is libgradwire.so.1" {
    readelf -d "$LIB/libgradwire.so" | grep -q 'SONAME.*\[libgradwire\.so\.1\]'
}

@test "every exported symbol begins with gw_" {
    names=$BATS_TEST_TMPDIR/names
    # The address sanitizer marks data with symbols of its own.
    nm -D --defined-only "$LIB/libgradwire.so" |
        awk '$3 !~ /^__odr_asan/ { print $3 }' >"$names"
    [ "$(grep -c '^gw_' "$names")" -gt 50 ]
    run grep -v '^gw_[a-z0-9]' "$names"
    echo "$output"
    [ "$status" -eq 1 ]
}

@test "a program outside of the tree finds the library and all-reduces" {
    [ -z "${SAN:-}" ] || skip "sanitizers want to be linked into the program"
    awk -v dir="$BATS_TEST_TMPDIR" -f tests/cli/examples.awk man/gradwire-coll.3
    cd "$BATS_TEST_TMPDIR"
    export PKG_CONFIG_PATH=$LIB/pkgconfig PKG_CONFIG_SYSROOT_DIR=$DEST
    # shellcheck disable=SC2046
    ${CC:-cc} -o add-up 1.c $(pkg-config --cflags --libs gradwire)
    LD_LIBRARY_PATH=$LIB ./add-up
    readelf -d add-up | grep -q 'NEEDED.*\[libgradwire\.so\.1\]'
}

@test "a C++ program can include every header" {
    command -v g++ >/dev/null || skip "g++ is not installed"
    echo '#include <gradwire/gradwire.h>' >"$BATS_TEST_TMPDIR/all.cc"
    g++ -Wall -Wextra -Wpedantic -Werror -fsyntax-only \
        -I "$DEST/usr/include" "$BATS_TEST_TMPDIR/all.cc"
}

@test "make uninstall takes away exactly what came" {
    mkdir -p "$DEST/usr/share/doc"
    touch "$DEST/usr/share/doc/other"
    make -s "B=$B" uninstall PREFIX=/usr DESTDIR="$DEST"
    run find "$DEST" -not -type d
    [ "$output" = "$DEST/usr/share/doc/other" ]
    [ ! -e "$DEST/usr/include/gradwire" ]
    [ ! -e "$DEST/usr/share/gradwire" ]
}
