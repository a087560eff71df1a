# SPDX-License-Identifier: MIT
#
# What ps-lite would take here. No distribution packages it, so it was measured
# once, elsewhere (15b8adf, its ZeroMQ transport over loopback, -O3, servers that
# really add what they are sent), beside the limits of that machine; its times
# are scaled by what those limits are here and now. Long requests are scaled by
# copies in memory of two processes at once, since moving and adding values is
# what they do; small ones by the round trip of a socket.
#
#   awk -v op=OP -v ranks=RANKS -v bytes=BYTES -f pslite.awk LIMITS
#
# prints "pslite op ranks bytes time_us"; LIMITS is what peers/limits.c prints.
# The time is of a request, over all workers: two workers that each make a
# request in 10 us take 5.

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

$1 == "copy_memory_2" { copy_now = $2 }
$1 == "tcp_trip" { trip_now = $2 }

END {
    then = us[op " " ranks]
    if (!then || !copy_now || !trip_now)
        exit 1
    scale = op ~ /small/ ? trip_now / trip_then : copy_then / copy_now
    printf "pslite %s %d %d %.3f\n", op, ranks, bytes, then * scale
}
