# fate.py: what becomes of the op under way when a member dies? It depends on
# the number of chunks that the member has sent. The nth send, with n members, is
# the chunk that it completes itself; all other chunks have its data already.
#
#     python3 fate.py dead=2 at_ms=202.5 members=4 EVENTS.jsonl
import json
import sys

given = dict(word.split("=") for word in sys.argv[1:-1])
dead = int(given["dead"])
at_ms = float(given["at_ms"])
members = int(given["members"])

newest = 0
sent = {}
for line in open(sys.argv[-1]):
    event = json.loads(line)
    if event["time_ns"] > at_ms * 1e6:
        continue
    if event["kind"] == "op_begin":
        newest = max(newest, event["op"])
    if event["kind"] == "send" and event["rank"] == dead:
        sent[event["op"]] = sent.get(event["op"], 0) + 1

print("forward" if sent.get(newest, 0) >= members else "exclude")
