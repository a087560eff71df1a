#!/bin/sh
# SPDX-License-Identifier: MIT
#
# mechanisms.sh [-v]: counts the mechanisms of each kind in lib and cmd. A rule
# finds them in the sources; -v lists the places. The status is 1 when a count is
# above its budget. Budgets only fall: a merge of two mechanisms lowers one.
#
# shellcheck disable=SC2317 # the rules are called by name
cd "$(dirname "$0")/../.." || exit 70
verbose=false
case ${1-} in
'') ;;
-v) verbose=true ;;
*) sed -n '4,6p' "$0" | sed 's/^# //' >&2; exit 64 ;;
esac
missed=0

# The lines, and the files, of lib and cmd that match a regular expression; the
# rest are more words for grep, such as --include.
lines() {
    regex=$1
    shift
    grep -rnE --include='*.[ch]' "$@" -e "$regex" lib cmd
}
files() {
    regex=$1
    shift
    grep -rlE --include='*.[ch]' "$@" -e "$regex" lib cmd
}

# A call of one of these functions.
call() {
    echo "(^|[^a-z_>.\"])($1)\\("
}

# The rules, each by the name of its kind.

# Functions of the library that open a socket, a queue pair or a shared mapping and
# carry messages over it. The exceptions are the dispatchers, the checks of peers
# and the substitute for a missing header.
transports() {
    lines '^(enum gw_err )?gw__[a-z_]+_open\(' --exclude='*.h' --exclude-dir=base |
        grep -E '^lib/wire/' | grep -vE '_none\.c|gw__(wire|messenger|accept_filter|peers)_open'
}
# Transports of messages through memory that two processes share.
shm_data_paths() {
    transports | grep -E 'shm_open'
}
# Files with an encoding of their own: a message or a frame to and from bytes.
wire_formats() {
    {
        files '^(size_t|int|enum gw_err) gw__[a-z_]*(encode|pack)\(' --exclude='*.h'
        find lib cmd -name '*frame*.c'
    } | sort -u
}
# Exchanges of addresses between processes that do not know each other yet.
address_exchanges() {
    find lib cmd -name 'rendezvous.c' -o -name 'rendezvous_message.c' \
        -o -name '*_addresses.c' -o -name '*_greeting.c' -o -name 'ring_connect.c' \
        -o -name 'launch_pmi.c' -o -name 'launch_far.c' -o -name 'run_publisher.c'
}
# Files that wait for more than their own thread.
event_loops() {
    files "$(call 'p?poll|epoll_wait|epoll_pwait2?|zmq_poll')" --exclude='*.h'
}
# Files that start processes.
supervisors() {
    files "$(call 'fork|posix_spawnp?')" --exclude='*.h'
}
# Files that charge a message to its sender in virtual time.
plan_simulators() {
    files 'sender_ps\[' --exclude='*.h'
}
# Files that know where the children of a node are.
event_heaps() {
    files 'child = [A-Z_a-z0-9]+ \* [a-z]+ \+ 1'
}
# Files that multiply alpha.
cost_models() {
    files '(alpha_us \*|\* [a-z>.-]*alpha_us)' --exclude='*.h'
}
# Structs that describe a link: rate, delay, jitter, loss, duplicates.
link_field_structs() {
    lines 'uint32_t loss_ppm;' --exclude='*.c'
}
# Structs with the file of a CURVE key.
key_file_configurations() {
    lines '[ *]key_file;' --exclude='*.c'
}
# Headers between the files of one module.
private_headers() {
    find lib cmd -name '*_parts.h'
}
# Files that run the steps of a prepared call over windows.
window_executors() {
    files 'gw__reduce_many\(' --exclude='*.h' | grep '^lib/coll/window/'
}

# check KIND BUDGET
check() {
    places=$("$1" | LC_ALL=C sort)
    count=$(printf '%s' "$places" | grep -c '^')
    printf '%-24s %5d %6d' "$1" "$count" "$2"
    if [ "$count" -gt "$2" ]; then
        printf '  above its budget'
        missed=1
    elif [ "$count" -lt "$2" ]; then
        printf '  lower its budget'
    fi
    echo
    if $verbose; then
        printf '%s\n' "$places" | sed 's/^/    /'
    fi
}

printf '%-24s %5s %6s\n' mechanism count budget
check transports 10
check shm_data_paths 2
check wire_formats 13
check address_exchanges 8
check event_loops 24
check supervisors 5
check plan_simulators 1
check event_heaps 1
check cost_models 1
check link_field_structs 1
check key_file_configurations 6
check private_headers 37
check window_executors 2
exit $missed
