# backward() computes the last gradient first, so that one is in bucket 0.
#
#     python3 assign.py first=16384 cap=131072 GRADIENTS
import sys

given = dict(word.split("=") for word in sys.argv[1:-1])
cap = int(given["cap"])
first = min(int(given["first"]), cap)

bucket = 0
held = 0
for line in reversed(open(sys.argv[-1]).readlines()):
    name, size = line.split()
    print(name, bucket)
    held += int(size)
    if held >= (cap if bucket else first):
        bucket += 1
        held = 0
