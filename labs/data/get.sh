#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Gets a data set that the labs and the manual use, as LibSVM text:
#
#     labs/data/get.sh a9a|mushrooms|optdigits|text8 [DIR]
#
# A file that is already in DIR stays. If $GRADWIRE_DATA is set, files are copied
# from that folder; otherwise they are fetched from their publishers. In both cases
# the SHA-256 of the result is checked before it gets its name.
#
# The files are changed as follows, so that the rows are the published ones and the
# bytes are always the same:
#   a9a        without blanks at the ends of lines and without the last newline of
#              the training rows. (Census income, prepared by the LibSVM authors;
#              both parts count features from 1.)
#   mushrooms  unchanged. (UCI Mushroom, one-hot, as split by the XGBoost authors.)
#   optdigits  from comma-separated values: the label, which is the last column,
#              comes first, and pixels that are 0 are left out.
#   text8      the first 549,570 words, in one line. The checksum is of the words,
#              one per line: line ends are not part of the data.
set -eu

fail() {
    status=$1
    shift
    echo "get.sh: $*" >&2
    exit "$status"
}

usage() {
    echo "usage: labs/data/get.sh a9a|mushrooms|optdigits|text8 [DIR]" >&2
    exit 64
}

# NAME FILE SHA-256 HOW SOURCE
catalogue() {
    libsvm=https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary
    uci=https://archive.ics.uci.edu/ml/machine-learning-databases
    xgboost=https://raw.githubusercontent.com/dmlc/xgboost/master/demo/data
    cat <<END
a9a a9a.train.libsvm 4a64288fba73c4362cf066e219c35663b450f1658867b7ed7bcc1f6accfc4949 trim_open $libsvm/a9a
a9a a9a.test.libsvm 0c3135eb9b9d83a4fa007d6e1a3b719f029db78884dafd5a46a4d7eeb4c2b018 trim $libsvm/a9a.t
mushrooms mushrooms.train.libsvm 915c2def06e9b44a306ad097fe8b6652c7c477d9c1e605bd2130ad20a70a8ad6 keep $xgboost/agaricus.txt.train
mushrooms mushrooms.test.libsvm 765db79391141953d890ce197fe828a621d6487fbba4de5e4d2217bd140371c0 keep $xgboost/agaricus.txt.test
optdigits optdigits.train.libsvm b43269275183d843e94ba63a444a1ec4b5b43a5e9b74adc07f3f66ed3b28ab3a from_csv $uci/optdigits/optdigits.tra
optdigits optdigits.test.libsvm b82d89c2691202b8add34b5bf633e936062defcf92753a8db0ff078f68214ee0 from_csv $uci/optdigits/optdigits.tes
text8 text8-head.txt 050661e80e796ad26e3295361520108ec303c61be09843fd481952b3203b91bb words http://mattmahoney.net/dc/text8.zip
END
}

# ---- how a published file becomes ours: stdin to stdout ----

keep() {
    cat
}

trim() {
    sed 's/[[:blank:]]*$//'
}

trim_open() {
    trim | awk 'NR > 1 { print last } { last = $0 } END { printf "%s", last }'
}

from_csv() {
    tr -d '\r' | awk -F, 'NF > 1 {
        printf "%d", $NF
        for (i = 1; i < NF; i++)
            if ($i + 0 != 0)
                printf " %d:%d", i, $i
        printf "\n"
    }'
}

words() {
    funzip | tr ' ' '\n' | sed '/^$/d' | head -n 549570 |
        tr '\n' ' ' | sed 's/ $//' | awk '{ print }'
}

# ---- checking and fetching ----

# The checksum of a file: of its bytes, or of its words.
digest() {
    if [ "$2" = words ]; then
        tr ' ' '\n' <"$1" | tr -s '\n'
    else
        cat "$1"
    fi | $sha256 | cut -d ' ' -f 1
}

download() {
    if command -v curl >/dev/null; then
        curl -fsSL --retry 2 --connect-timeout 15 -o "$2" "$1"
    elif command -v wget >/dev/null; then
        wget -q -T 15 -t 2 -O "$2" "$1"
    else
        fail 69 "neither curl nor wget is installed;" \
            "install one, or set GRADWIRE_DATA to a folder with the files"
    fi
}

fetch() {
    file=$1 how=$2 source=$3
    [ "$how" != words ] || command -v funzip >/dev/null ||
        fail 69 "funzip is not installed; it comes with unzip"
    download "$source" "$work/source" ||
        fail 69 "$source cannot be reached; is there a network?" \
            "(GRADWIRE_DATA can name a folder with the files)"
    "$how" <"$work/source" >"$work/$file"
}

get() {
    file=$1 sum=$2 how=$3 source=$4
    if [ -f "$dir/$file" ] && [ "$(digest "$dir/$file" "$how")" = "$sum" ]; then
        echo "$dir/$file is there"
        return
    fi
    origin=$source
    if [ -n "${GRADWIRE_DATA:-}" ] && [ -f "$GRADWIRE_DATA/$file" ]; then
        origin=$GRADWIRE_DATA/$file
        cat "$origin" >"$work/$file"
    else
        fetch "$file" "$how" "$source"
    fi
    found=$(digest "$work/$file" "$how")
    [ "$found" = "$sum" ] || fail 65 "$file from $origin has the SHA-256" \
        "$found, not $sum: it is another file than the one that was described"
    mv "$work/$file" "$dir/$file"
    echo "$dir/$file from $origin"
}

case $# in
1 | 2) ;;
*) usage ;;
esac
name=$1
dir=${2:-.}
catalogue | grep -q "^$name " || usage
if command -v sha256sum >/dev/null; then
    sha256=sha256sum
elif command -v shasum >/dev/null; then
    sha256="shasum -a 256"
else
    fail 69 "neither sha256sum nor shasum is installed"
fi
mkdir -p "$dir"
# In $dir, so that the last step is a rename.
work=$(mktemp -d "$dir/.get.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
catalogue >"$work/catalogue"
while read -r set file sum how source; do
    [ "$set" != "$name" ] || get "$file" "$sum" "$how" "$source"
done <"$work/catalogue"
