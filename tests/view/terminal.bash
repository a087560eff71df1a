# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# A terminal for the tests of ringtop: tmux runs it, presses the keys and reads
# the screen. All files are in the current folder.

# until_true COMMAND...: waits until it succeeds; fails the test after a while.
until_true() {
    local end=$((SECONDS + 60))
    while [ $SECONDS -lt $end ]; do
        if "$@"; then
            return 0
        fi
        read -rt 0.04 <> <(:) || true
    done
    echo "waited in vain for: $*"
    [ ! -S tmux ] || screen
    return 1
}

# on_terminal COMMAND: in a terminal of 80x24, with the state of the terminal
# before and after it in files. cat echoes later input.
on_terminal() {
    command -v tmux >/dev/null || skip "no tmux"
    cat >script <<EOT
trap : INT QUIT # the terminal's Ctrl-C and Ctrl-\\ are for the view
echo "the line before"
stty -a | sed 1d >before
$1
echo "status=\$?"
stty -a | sed 1d >after
exec cat
EOT
    TERM=screen tmux -S tmux -f /dev/null new-session -d -x 80 -y 24 \
        "exec env LC_ALL=C.UTF-8 TERM=screen sh script" 3>&- 4>&-
}

close_terminal() {
    [ ! -S tmux ] || tmux -S tmux kill-server || true
}

screen() {
    tmux -S tmux capture-pane -p
}

shows() {
    screen | grep -q -- "$1"
}

press() {
    tmux -S tmux send-keys "$@"
}

resize() {
    tmux -S tmux resize-window -x "$1" -y "$2"
}

same() {
    [ -s "$2" ] && cmp -s "$1" "$2"
}

is_plain() {
    [ "$(tmux -S tmux display -p '#{cursor_flag} #{alternate_on}')" = "1 0" ]
}

# The screen of before is back, with its cursor, and the terminal is as it was.
terminal_is_restored() {
    until_true shows "$1"
    until_true shows "the line before"
    until_true same before after
    until_true is_plain
    press "typed by hand" Enter
    until_true shows "typed by hand"
}
