# Which all-reduce is the fastest: "recursive_doubling", "rabenseifner" or "ring"?
#
#   p  ranks, 3 to 16
#   n  bytes of a rank's buffer
#   N  alpha/beta: the bytes that a link carries while a message gets under way
#
# This is what one finds in many programs: a number that was measured once, on
# some machine. The check is on others.
function choose(p, n, N) {
    if (n <= 65536)
        return "recursive_doubling"
    return "ring"
}
