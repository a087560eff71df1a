# SPDX-License-Identifier: MIT
"""count.py EPOCH SEQUENCES LOG...: how many different sequences have counted in a data
epoch, by the logs of the members. A sequence that has counted twice is an error."""

import json
import sys

epoch, size = int(sys.argv[1]), int(sys.argv[2])
steps = {}
for path in sys.argv[3:]:
    with open(path) as log:
        for text in log:
            if text.endswith("\n"):  # a killed process has not finished its last line
                line = json.loads(text)
                steps[line["step"]] = line["used"]
used = [i for step in sorted(steps) for i in steps[step]]
part = used[epoch * size:(epoch + 1) * size]
print(len(set(part)) if len(set(part)) == len(part) else f"{len(part) - len(set(part))} twice")
