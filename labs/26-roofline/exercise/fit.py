# The costs of a link, from a file of lines "BYTES US": python3 fit.py FILE. Prints
# alpha in us, and the rate in bytes per us. This is fit.awk in Python. Change one of
# the two; the check runs that one.
#
# This version reads alpha off the smallest message, and the rate off the largest one.
# Both are wrong: each message has some of both.
import sys

times = [tuple(map(float, line.split())) for line in open(sys.argv[-1])]

alpha = times[0][1]
rate = times[-1][0] / times[-1][1]
print(alpha, rate)
