#!/bin/sh
# SPDX-License-Identifier: MIT
#
# hosts.sh: the cases of two machines with an RDMA device each and a wire
# between them. Ranks 0 and 1 are in the first, 2 and 3 in the second, and they
# connect over TCP. First the collectives; then the second machine ends
# abruptly, in the middle of one. The first machine prints one line per case,
# the second only errors.
bad=0
case $ADDRESS in
*.1) own="0 1" ;;
*) own="2 3" ;;
esac
# shellcheck disable=SC2086 # two words
set -- $own
mine=$1 also_mine=$2

member() { # rank | options
    rank=$1
    shift
    GW_RANK=$rank GW_SIZE=4 GW_RENDEZVOUS=tcp://10.77.0.1:5577 \
        exec collrun bench --wire verbs --insecure -o jsonl "$@" \
        >out."$rank" 2>err."$rank"
}

record_verdict() { # verdict | case | in a word
    test "$mine$1" = 2ok || printf '%-4s %-7s %-46s %s\n' "$KIND" "$@"
}

failed() { # case
    record_verdict FAILED "$1, ranks $own" ""
    cat out."$mine" err.* | tail -20 | sed 's/^/        /'
    bad=1
}

both() { # options: the ranks of this machine; whether both are content
    (member "$mine" "$@") & first=$!
    (member "$also_mine" "$@") & second=$!
    status=0
    wait "$first" || status=1
    wait "$second" || status=1
    return "$status"
}

every_collective() {
    rows=0
    for name in broadcast reduce allreduce gather scatter allgather \
        reduce_scatter alltoall barrier; do
        if ! both "$name" --sizes 4,70000,700000 --iters 3 --warmup 1 ||
            grep '"wrong":' out."$mine" | grep -qv '"wrong":0[,}]'; then
            failed "$name, 2 and 2 ranks"
            return
        fi
        rows=$((rows + $(grep -c '"wrong":0[,}]' out."$mine")))
    done
    record_verdict ok "every collective, 2 ranks here, 2 there" "$rows sizes, none wrong"
}

endless() {
    both allreduce --begin 1K --end 1G --factor 2 --seconds 500ms
}

heard_bytes() {
    read -r _ bytes _ <<EOT
$(grep eth0 /proc/net/dev | tr : ' ')
EOT
    echo "$bytes"
}

# A rendezvous takes some kilobytes: after a megabyte the collective is under
# way.
end_without_a_word() {
    before=$(heard_bytes)
    endless &
    tries=0
    until [ "$(heard_bytes)" -gt $((before + 1000000)) ] ||
        [ "$tries" -gt 600 ]; do
        tries=$((tries + 1))
        sleep 0.05
    done
    echo "exit $bad" >/dev/ttyS1
    sleep 0.2
    echo b >/proc/sysrq-trigger
}

see_it_end() {
    name="a host that is gone is named"
    if ! endless && grep -q 'rank [23] lost' err.0; then
        record_verdict ok "$name" "$(sed -n 's/.*\(rank [23] lost.*\)/\1/p' err.0 | tail -1)"
    else
        failed "$name"
    fi
}

every_collective
if [ "$mine" = 0 ]; then
    see_it_end
else
    end_without_a_word
fi
exit "$bad"
