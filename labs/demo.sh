#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The demonstration of `make demo`: a ring of four trains a model on real data,
# first undisturbed, then in slow motion while one member is killed in the middle
# of an all-reduce and another one joins. On a terminal it runs in the live view;
# otherwise it prints lines. At the end the loss must be the same within 1 %, and
# no sample may be skipped or used twice. Each command is shown, so that it can be
# typed again. $RINGCTL and $RINGTOP are the programs; by default those in build/.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
ringctl=${RINGCTL:-build/ringctl}
ringtop=${RINGTOP:-build/ringtop}

fail() {
    echo "demo: $*" >&2
    exit 69
}

say() {
    printf '\n'
    printf '%s\n' "$@"
}

# Real rows that Debian ships: 270 patients, 13 measurements each (UCI Statlog
# Heart, scaled to [-1, 1]). Documentation may be compressed.
find_heart_scale() {
    examples=/usr/share/doc/liblinear-tools/examples
    if [ -f "$examples/heart_scale" ]; then
        data=$examples/heart_scale
    elif [ -f "$examples/heart_scale.gz" ]; then
        data=$work/heart_scale
        gzip -dc "$examples/heart_scale.gz" >"$data"
    else
        fail "heart_scale is not in $examples;" \
            "\"make deps\" installs liblinear-tools, which has it"
    fi
}

end() {
    for run in calm stormy; do
        "$ringctl" --run "$run" down >/dev/null 2>&1 || true
    done
    rm -rf "$work"
}

for program in "$ringctl" "$ringtop"; do
    command -v "$program" >/dev/null ||
        fail "$program is not built; try \"make\""
done
work=$(mktemp -d)
GRADWIRE_RUNS=$work/runs
export GRADWIRE_RUNS
trap end EXIT
trap 'exit 130' HUP INT PIPE TERM
find_heart_scale
train="train lr $data --epochs 24 --batch 9 --lr 0.05"

# start NAME OPTION...: a run of four, in the background.
start() {
    # shellcheck disable=SC2086 # $train is several words
    "$ringctl" up 4 --name "$@" $train >"$work/said" 2>&1 || {
        cat "$work/said" >&2
        exit 1
    }
}

# value RUN NAME: a number of its status.
value() {
    "$ringctl" status -o json --run "$1" |
        sed -n "s/^.*\"$2\": *\([-0-9.e+]*\).*$/\1/p" | head -n 1
}

say "Four processes train a model on 270 patients. Each computes the gradient" \
    "of its rows, and a ring all-reduce adds the gradients. Nothing disturbs them."
printf '$ ringctl %s\n' "up 4 --name calm $train" "wait done" "status"
start calm
"$ringctl" --run calm wait 'done' --timeout 60s
"$ringctl" --run calm status
calm=$(value calm train_loss)
"$ringctl" --run calm down >/dev/null

cat >"$work/story" <<'END'
wait step>=10
kill 2
wait alive==3 && step>=25
add
wait alive==4
wait done
expect lost==0 && doubled==0
END
say "Now the same in slow motion. Node 2 is killed in the middle of an" \
    "all-reduce. The others detect that, decide whether to complete the sum or" \
    "to repeat it, and go on. Then a node joins and copies the state."
printf '$ ringctl %s\n' "up 4 --name stormy $train --pace 5ms"
sed 's/^/$ ringctl /' "$work/story"
echo
start stormy --pace 5ms

# The script ends the run, and with it the live view.
play_story() {
    status=0
    "$ringctl" --run stormy --timeout 120s "$work/story" || status=$?
    "$ringctl" --run stormy status || status=$?
    value stormy train_loss >"$work/loss"
    "$ringctl" --run stormy down >/dev/null || status=$?
    return "$status"
}
if [ -t 1 ] && [ "${TERM:-dumb}" != dumb ]; then
    (play_story >"$work/output" 2>&1) &
    player=$!
    "$ringtop" --run stormy --leave || true
    ended=0
    wait "$player" || ended=$?
    cat "$work/output"
else
    "$ringctl" --run stormy watch --plain &
    watcher=$!
    ended=0
    (play_story) || ended=$?
    wait "$watcher" || true
fi
[ "$ended" = 0 ] || exit "$ended"

stormy=$(cat "$work/loss")
awk -v calm="$calm" -v stormy="$stormy" 'BEGIN {
    off = calm > 0 ? 100 * (stormy / calm - 1) : 100
    printf "\nfinal loss %s undisturbed, %s disturbed: %+.3f %%\n",
        calm, stormy, off
    exit !(off < 1 && off > -1)
}' || {
    echo "demo: the losses differ by more than 1 %" >&2
    exit 1
}
say "Next: build/ringctl is a shell; \"help\" lists its verbs. In a second terminal" \
    "build/ringtop shows the run. man -l man/ringctl.1 describes everything."
