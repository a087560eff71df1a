# SPDX-License-Identifier: MIT
#
# labs/data/get.sh: its sources, its checks, and its changes. `curl` is a stub:
# it hands out files in the published form, made from $GRADWIRE_DATA, or fails
# as without a network.

setup() {
    work=$(mktemp -d)
    get=$BATS_TEST_DIRNAME/../../labs/data/get.sh
    mkdir "$work/bin" "$work/web"
    cat >"$work/bin/curl" <<END
#!/bin/sh
while [ "\$1" != -o ]; do shift; done
cp "$work/web/\$(basename "\$3")" "\$2"
END
    chmod +x "$work/bin/curl"
    PATH=$work/bin:$PATH
}

teardown() {
    rm -rf "$work"
}

need_data() {
    [ -f "${GRADWIRE_DATA:-}/$1" ] ||
        skip "GRADWIRE_DATA names no folder with $1"
}

# Runs get.sh with the curl stub as its only source.
get_from_web() {
    run env -u GRADWIRE_DATA "$get" "$1" "$work/out"
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "an unknown name is refused" {
    run "$get" a9
    [ "$status" -eq 64 ]
    [[ $output == usage:* ]]
    run "$get"
    [ "$status" -eq 64 ]
}

@test "without a network there is a message, and no file" {
    run env -u GRADWIRE_DATA "$get" a9a "$work/out"
    echo "$output"
    [ "$status" -eq 69 ]
    [[ $output == *"cannot be reached"* ]]
    [ -z "$(ls -A "$work/out")" ]
}

@test "a file that is not the described one is refused" {
    echo "+1 1:1" >"$work/web/a9a"
    run env -u GRADWIRE_DATA "$get" a9a "$work/out"
    echo "$output"
    [ "$status" -eq 65 ]
    [[ $output == *"is another file"* ]]
    [ -z "$(ls -A "$work/out")" ]
}

@test "GRADWIRE_DATA comes first" {
    need_data mushrooms.train.libsvm
    run "$get" mushrooms "$work/out"
    echo "$output"
    [ "$status" -eq 0 ]
    cmp "$GRADWIRE_DATA/mushrooms.test.libsvm" \
        "$work/out/mushrooms.test.libsvm"
    run env -u GRADWIRE_DATA "$get" mushrooms "$work/out"
    [ "$status" -eq 0 ]
    [[ ${lines[0]} == *"is there" ]]
}

@test "a9a: blanks at the ends of lines go" {
    need_data a9a.train.libsvm
    sed 's/$/ /' "$GRADWIRE_DATA/a9a.test.libsvm" >"$work/web/a9a.t"
    { cat "$GRADWIRE_DATA/a9a.train.libsvm" && echo; } | sed 's/$/ /' \
        >"$work/web/a9a"
    get_from_web a9a
    cmp "$GRADWIRE_DATA/a9a.train.libsvm" "$work/out/a9a.train.libsvm"
}

@test "optdigits: from comma-separated values" {
    need_data optdigits.train.libsvm
    for part in train:tra test:tes; do
        awk '{
            for (i = 1; i <= 64; i++)
                pixel[i] = 0
            for (i = 2; i <= NF; i++) {
                split($i, entry, ":")
                pixel[entry[1]] = entry[2]
            }
            for (i = 1; i <= 64; i++)
                printf "%d,", pixel[i]
            print $1
        }' "$GRADWIRE_DATA/optdigits.${part%:*}.libsvm" \
            >"$work/web/optdigits.${part#*:}"
    done
    get_from_web optdigits
    cmp "$GRADWIRE_DATA/optdigits.test.libsvm" \
        "$work/out/optdigits.test.libsvm"
}

@test "text8: the first words" {
    need_data text8-head.txt
    command -v funzip >/dev/null || skip "funzip is not installed"
    { printf ' ' && tr '\n' ' ' <"$GRADWIRE_DATA/text8-head.txt" &&
        printf 'of the words that follow'; } | gzip >"$work/web/text8.zip"
    get_from_web text8
    [ "$(wc -w <"$work/out/text8-head.txt")" -eq 549570 ]
}
