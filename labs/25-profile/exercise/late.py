# Prints the late rank of a recording: the member that stopped for a while, before or
# in the middle of an all-reduce. This is late.awk in Python. Change one of the two;
# the check runs that one.
#
#     python3 late.py RECORDING.jsonl
#
#   {"time_ns":236000000,"kind":"op_begin","rank":0,"op":2,...}
#   {"time_ns":236000000,"kind":"send","rank":0,"peer":1,"op":2,"step":0,"chunk":0,...}
#   {"time_ns":270000000,"kind":"apply","rank":1,"peer":0,"op":2,"step":0,"chunk":0,...}
#   {"time_ns":274000000,"kind":"op_end","rank":0,"op":2,...}
#
# This version prints the rank with the longest call.
import json
import sys

began = {}
calls = {}
for line in open(sys.argv[-1]):
    event = json.loads(line)
    if event["kind"] == "op_begin":
        began[event["op"], event["rank"]] = event["time_ns"]
    if event["kind"] == "op_end":
        call = event["op"], event["rank"]
        calls[call] = event["time_ns"] - began[call]

print(max(calls, key=calls.get)[1])
