# The bucket of each gradient. This is assign.awk in Python. Change one of the two;
# the check runs that one.
#
#     python3 assign.py first=16384 cap=131072 GRADIENTS
#
# GRADIENTS has lines "NAME BYTES" in the order of the forward pass; first and cap are
# the sizes that close the first bucket and the others. Prints lines "NAME BUCKET";
# bucket 0 is all-reduced first.
#
# This version fills buckets in the order of the forward pass.
import sys

given = dict(word.split("=") for word in sys.argv[1:-1])
first = int(given["first"])
cap = int(given["cap"])

bucket = 0
held = 0
for line in open(sys.argv[-1]):
    name, size = line.split()
    print(name, bucket)
    held += int(size)
    if held >= (cap if bucket else first):
        bucket += 1
        held = 0
