# Prints the late rank of a recording: the receiver of the message that waited longest
# to be received. That finds a member that comes late to a call, too, because its
# neighbour has sent to it long before.
#
#     python3 late.py RECORDING.jsonl
import json
import sys

sent = {}
longest = 0
for line in open(sys.argv[-1]):
    event = json.loads(line)
    if event["kind"] not in ("send", "apply"):
        continue
    where = event["op"], event["step"], event["chunk"]
    rank, peer = event["rank"], event["peer"]
    if event["kind"] == "send":
        sent[where, rank, peer] = event["time_ns"]
    elif event["time_ns"] - sent[where, peer, rank] > longest:
        longest = event["time_ns"] - sent[where, peer, rank]
        late = rank

print(late)
