#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# make install from the view of a packager and a user: all files are below
# DESTDIR, an external program finds the library by pkg-config and all-reduces
# with it, and make uninstall removes exactly the installed files.

setup_file() {
    bats_require_minimum_version 1.5.0
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
        share/gradwire/programs/elastic.c \
        share/gradwire/labs/05-kill/README.md \
        share/gradwire/labs/plans/ring-allreduce.plan \
        share/gradwire/topologies/racks.topo \
        lib/python3/dist-packages/gradwire/__init__.py; do
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

@test "pkg-config names our headers alone, and --static the libraries below ours" {
    [ -z "${SAN:-}" ] || skip "sanitizers want to be linked into the program"
    export PKG_CONFIG_PATH=$LIB/pkgconfig PKG_CONFIG_SYSROOT_DIR=$DEST
    [ "$(pkg-config --cflags gradwire | xargs)" = "-I$DEST/usr/include" ]
    [ "$(pkg-config --libs gradwire | xargs)" = "-L$LIB -lgradwire" ]
    cat >"$BATS_TEST_TMPDIR/list.c" <<'EOT'
#include <gradwire/gradwire.h>
int main(void)
{
    size_t count;
    return gw_algo_list(&count) && count > 30 ? 0 : 1;
}
EOT
    # The sysroot is put before the folders of -L, so only ours is asked for.
    # shellcheck disable=SC2046
    ${CC:-cc} -o "$BATS_TEST_TMPDIR/list" -I "$DEST/usr/include" \
        "$BATS_TEST_TMPDIR/list.c" -Wl,-Bstatic -L"$LIB" -lgradwire -Wl,-Bdynamic \
        $(env -u PKG_CONFIG_SYSROOT_DIR pkg-config --static --libs gradwire |
            sed 's/.*-lgradwire//')
    run -0 readelf -d "$BATS_TEST_TMPDIR/list"
    [[ $output != *libgradwire* ]]
    "$BATS_TEST_TMPDIR/list"
}

# find_installed: lets cc, pkg-config and the shell find the installed files.
find_installed() {
    [ -z "${SAN:-}" ] || skip "sanitizers want to be linked into the program"
    unset GRADWIRE_RUN GRADWIRE_RUNS LAB_WORK GW_BIN
    export PATH=$DEST/usr/bin:$PATH LD_LIBRARY_PATH=$LIB LAB_TIMEOUT=600
    export PKG_CONFIG_PATH=$LIB/pkgconfig PKG_CONFIG_SYSROOT_DIR=$DEST
}

@test "an installed lab runs from any folder, and writes nothing to its own" {
    find_installed
    PATH=${PATH#"$DEST/usr/bin:"}
    touch "$BATS_TEST_TMPDIR/before"
    mkdir "$BATS_TEST_TMPDIR/mine"
    cd "$BATS_TEST_TMPDIR/mine"
    lab=$DEST/usr/share/gradwire/labs/lab
    "$lab" start 19
    yes 1 2>/dev/null | "$lab" predict 19 >/dev/null
    run "$lab" run 19
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output = *"$DEST/usr/bin/collrun exec "* ]]
    "$lab" solution 19 --take
    "$lab" check 19
    run -0 find "$DEST/usr/share" -newer "$BATS_TEST_TMPDIR/before"
    [ "$output" = "" ]
    # In the installed folder, the work is among the user's data.
    cd "${lab%/lab}"
    XDG_DATA_HOME=$BATS_TEST_TMPDIR/data ./lab start 00
    [ -s "$BATS_TEST_TMPDIR/data/gradwire/lab-work/00/tour.ring" ]
}

@test "the pages of the installed labs and programs name installed files" {
    find_installed
    run grep -rnE '(^|[^/a-z.])(build|labs|man|lib/include)/|man -l|rpath' \
        --include=*.md --include=hints.txt --include=*.c "$DEST/usr/share/gradwire" \
        --exclude=README.zh.md
    echo "$output"
    [ "$status" -eq 1 ]
    awk -v dir="$BATS_TEST_TMPDIR" -f tests/cli/examples.awk \
        "$DEST/usr/share/gradwire/programs/README.md"
    cd "$BATS_TEST_TMPDIR"
    sed -n "/hello/{s|/usr/share|$DEST/usr/share|;p}" commands >hello.sh
    [ "$(wc -l <hello.sh)" -eq 2 ]
    run -0 sh -eux hello.sh
    echo "$output"
    [[ $output = *"the ranks add up to 6"* ]]
}

@test "the Python package finds the library of its prefix" {
    [ -z "${SAN:-}" ] || skip "sanitizers want to be linked into the program"
    /usr/bin/python3 -c 'import numpy' 2>/dev/null || skip "NumPy is not installed"
    cd /
    unset GRADWIRE_LIBRARY
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$LIB/python3/dist-packages /usr/bin/python3 -c '
import gradwire, sys
assert gradwire._library.C._name.startswith(sys.argv[1]), gradwire._library.C._name
assert gradwire.Plan.make("allreduce", "ring", 4).verify()' "$LIB"
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
