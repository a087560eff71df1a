# Which all-reduce is the fastest: "recursive_doubling", "rabenseifner" or "ring"?
#
#   p  ranks, 3 to 16
#   n  bytes of a rank's buffer
#   N  alpha/beta: the bytes that a link carries while one message starts
#
# Many programs have such a constant, measured once on one machine. The check
# uses other costs.
function choose(p, n, N) {
    if (n <= 65536)
        return "recursive_doubling"
    return "ring"
}
