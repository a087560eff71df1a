#!/bin/sh
# SPDX-License-Identifier: MIT
#
# hosts.sh: what two machines do that have an RDMA device each and a wire
# between them. Ranks 0 and 1 live in the first, 2 and 3 in the second, and meet
# over TCP. First the collectives; then the second machine ends without a word,
# in the middle of one. The first tells a line a case.
bad=0

member() { # rank | options
    rank=$1
    shift
    GW_RANK=$rank GW_SIZE=4 GW_RENDEZVOUS=tcp://10.77.0.1:5577 \
        exec collrun bench --wire verbs --insecure -o jsonl "$@" \
        >out."$rank" 2>err."$rank"
}

told() { # verdict | case | in a word
    printf '%-7s %-46s %s\n' "$1" "$2" "$3"
}

failed() { # case
    told FAILED "$1" ""
    cat out.0 err.* | tail -20 | sed 's/^/        /'
    bad=1
}

collective() { # name | the two ranks of this machine
    (member "$2" "$1" --sizes 4,70000,700000 --iters 3 --warmup 1) & first=$!
    (member "$3" "$1" --sizes 4,70000,700000 --iters 3 --warmup 1) & second=$!
    status=0
    wait "$first" || status=1
    wait "$second" || status=1
    return "$status"
}

every_collective() { # the two ranks of this machine
    rows=0
    for name in broadcast reduce allreduce gather scatter allgather \
        reduce_scatter alltoall; do
        if ! collective "$name" "$@"; then
            failed "$name, 2 and 2 ranks"
            return
        fi
        rows=$((rows + $(grep -c '"wrong":0[,}]' out."$1")))
        ! grep '"wrong":' out."$1" | grep -qv '"wrong":0[,}]' ||
            failed "$name, 2 and 2 ranks"
    done
    told ok "every collective, 2 ranks here, 2 there" "$rows sizes, none wrong"
}

# Until four pairs lead from here to there, and then until they have moved
# something, so that it ends in the middle.
end_without_a_word() {
    (member 2 allreduce --begin 1K --end 1G --factor 2 --seconds 500ms) &
    (member 3 allreduce --begin 1K --end 1G --factor 2 --seconds 500ms) &
    tries=0
    until [ "$(rdma resource show qp | grep -c 'state RTS')" -ge 6 ] ||
        [ "$tries" -gt 600 ]; do
        tries=$((tries + 1))
        sleep 0.05
    done
    read -r _ before _ <<EOT
$(grep eth0 /proc/net/dev | tr : ' ')
EOT
    moved=$before
    until [ "$moved" -gt $((before + 300000)) ] || [ "$tries" -gt 600 ]; do
        tries=$((tries + 1))
        sleep 0.05
        read -r _ moved _ <<EOT
$(grep eth0 /proc/net/dev | tr : ' ')
EOT
    done
    echo "exit 0" >/dev/ttyS1
    sleep 0.2
    echo b >/proc/sysrq-trigger
}

see_it_end() {
    name="a host that is gone is named"
    (member 0 allreduce --begin 1K --end 1G --factor 2 --seconds 500ms) & first=$!
    (member 1 allreduce --begin 1K --end 1G --factor 2 --seconds 500ms) & second=$!
    status=0
    wait "$first" && status=1
    wait "$second" && status=1
    if [ "$status" = 0 ] && grep -q 'rank [23]' err.0; then
        told ok "$name" "$(tail -1 err.0 | cut -c 1-100)"
    else
        failed "$name"
    fi
}

if [ "$ADDRESS" = 10.77.0.1 ]; then
    every_collective 0 1
    # TCP, which iWARP is made of, is patient for many minutes.
    [ "$KIND" = siw ] || see_it_end
else
    every_collective 2 3 >/dev/null
    [ "$KIND" = siw ] || end_without_a_word
fi
exit "$bad"
