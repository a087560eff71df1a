# fate.py: what becomes of the op under way when a member dies? This is fate.awk in
# Python. Change one of the two; the check runs that one.
#
#     python3 fate.py dead=2 at_ms=202.5 members=4 EVENTS.jsonl
#
# EVENTS are the events of a run without a death, one event per line:
#
#     {"time_ns":200000000,"kind":"op_begin","rank":0,"epoch":1,"op":0,...}
#     {"time_ns":200000000,"kind":"send","rank":2,"peer":3,...,"op":0,...}
#
# Print `forward` or `exclude`: the controllers' decision about the newest op
# that has begun, if member `dead` dies at `at_ms`. This version always prints
# the same answer.
import json
import sys

given = dict(word.split("=") for word in sys.argv[1:-1])
dead = int(given["dead"])
at_ms = float(given["at_ms"])
members = int(given["members"])

for line in open(sys.argv[-1]):
    event = json.loads(line)
    if event["time_ns"] > at_ms * 1e6:
        continue

print("exclude")
