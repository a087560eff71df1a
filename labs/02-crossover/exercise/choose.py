# Which all-reduce is the fastest: "recursive_doubling", "rabenseifner" or "ring"?
# This is choose.awk in Python. Change one of the two; the check runs that one.
#
#   p  ranks, 3 to 16
#   n  bytes of a rank's buffer
#   N  alpha/beta: the bytes that a link carries while one message starts
#
# Many programs have such a constant, measured once on one machine. The check
# uses other costs.
import sys


def choose(p, n, N):
    if n <= 65536:
        return "recursive_doubling"
    return "ring"


# The check sends lines "p n N" and reads the choices.
for line in sys.stdin:
    print(choose(*map(int, line.split())))
