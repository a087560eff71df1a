#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The Chinese pages of the labs: each lab has one, both pages link to each other, and
# their commands are equal byte for byte, so the two cannot drift apart.

setup_file() {
    cd "$BATS_TEST_DIRNAME/../../labs" || return 1
    LABS=$PWD
    export LABS
}

setup() {
    cd "$LABS" || return 1
    headings="问题,你需要,预测,运行,观察,破坏,构建,检查,局限,延伸,"
}

# shell_blocks PAGE: prints its ```sh blocks with their fences.
# shellcheck disable=SC2016
shell_blocks() {
    sed -n '/^```sh$/,/^```$/p' "$1"
}

# same_blocks FOLDER: compares the blocks of its two pages.
same_blocks() {
    shell_blocks "$1/README.md" >"$BATS_TEST_TMPDIR/english"
    shell_blocks "$1/README.zh.md" >"$BATS_TEST_TMPDIR/chinese"
    if [ -e "$1/explain.md" ]; then
        shell_blocks "$1/explain.md" >>"$BATS_TEST_TMPDIR/english"
        shell_blocks "$1/explain.zh.md" >>"$BATS_TEST_TMPDIR/chinese"
    fi
    [ -s "$BATS_TEST_TMPDIR/english" ]
    diff "$BATS_TEST_TMPDIR/english" "$BATS_TEST_TMPDIR/chinese" || {
        echo "$1/README.zh.md has other commands than README.md"
        return 1
    }
}

linked() {
    grep -qF '(README.zh.md)' "$1/README.md" ||
        { echo "$1/README.md does not name its Chinese page"; return 1; }
    grep -qF '(README.md)' "$1/README.zh.md" ||
        { echo "$1/README.zh.md does not name its English page"; return 1; }
}

@test "every lab has a Chinese page with a question, the headings and a link back" {
    count=0
    for lab in [0-9][0-9]-*; do
        page=$lab/README.zh.md
        [ -f "$page" ] || { echo "$page is missing"; return 1; }
        echo "$page"
        sed -n '1p' "$page" | grep -qx '# .*？'
        [ "$(sed -n 's/^## //p' "$page" | tr '\n' ,)" = "$headings" ]
        linked "$lab"
        count=$((count + 1))
    done
    [ "$count" -ge 20 ]
}

@test "its commands equal those of the English page" {
    for lab in [0-9][0-9]-*; do
        same_blocks "$lab"
    done
}

@test "the Chinese overview has the same commands and links to every Chinese page" {
    linked .
    same_blocks .
    for lab in [0-9][0-9]-*; do
        grep -qF "[${lab%%-*}]($lab/README.zh.md)" README.zh.md ||
            { echo "$lab is not in labs/README.zh.md"; return 1; }
    done
}
