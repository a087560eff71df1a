# SPDX-License-Identifier: MIT
#
# An estimate of ps-lite's times on this machine. No distribution packages it,
# so it was measured once, elsewhere (15b8adf, its ZeroMQ transport over
# loopback, -O3, with servers that add the received values), together with the
# limits of that machine; its times are scaled by the ratio of the limits. Long
# requests are scaled by copies in memory of two processes at once, since they
# mostly move and add values; small ones by the round trip of a socket.
#
# Both limits vary from round to round: the trip by TCP is 7.5 us if the kernel
# has both processes on one core and 20 to 22 us if not; the copies are 6.5 to
# 21 GB/s, depending on the machine's other users. So their medians over all
# rounds count, and there is one time for the whole table. That is strict
# towards gradwire: ps-lite's 172 us belong to a trip of 21 us, which is that of
# two cores here too, and its threads (ten wake-ups per request) would not all
# stay on one. With the lower trip a small request of it counts as 62 us.
#
#   awk -v op=OP -v ranks=RANKS -v bytes=BYTES -f pslite.awk LIMITS
#
# prints "pslite op ranks bytes time_us"; LIMITS is the output of
# peers/limits.c, of any number of rounds. The time is that of a request, over
# all workers: two workers that each make a request in 10 us take 5.

BEGIN {
    copy_then = 9.5   # GB/s of copies, two processes
    trip_then = 21    # us, there and back by TCP

    # A million keys of one float, in Mkeys/s of all workers together.
    us["push-keys 2"] = 1e6 / 36
    us["pull-keys 2"] = 1e6 / 38
    us["push-keys 4"] = 1e6 / (2 * 39)
    us["pull-keys 4"] = 1e6 / (2 * 30)
    # A thousand keys of 10,000 floats, in GB/s.
    us["push-rows 2"] = 40e6 / 530
    us["pull-rows 2"] = 40e6 / 770
    # A hundred keys of 16 floats, one request at a time.
    us["push-small 2"] = 172
    us["pull-small 2"] = 164
}

# Keeps the values of a limit in ascending order.
function note(name, value,    i) {
    for (i = ++count[name]; i > 1 && seen[name, i - 1] > value; i--)
        seen[name, i] = seen[name, i - 1]
    seen[name, i] = value
}

function median(name,    n) {
    n = count[name]
    return (seen[name, int((n + 1) / 2)] + seen[name, int(n / 2) + 1]) / 2
}

$1 == "copy_memory_2" || $1 == "tcp_trip" { note($1, $2 + 0) }

END {
    then = us[op " " ranks]
    if (!then || !count["copy_memory_2"] || !count["tcp_trip"])
        exit 1
    scale = op ~ /small/ ? median("tcp_trip") / trip_then \
                         : copy_then / median("copy_memory_2")
    printf "pslite %s %d %d %.3f\n", op, ranks, bytes, then * scale
}
