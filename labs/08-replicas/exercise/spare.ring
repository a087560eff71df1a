# Four servers, two replicas of each slot, and two servers that die. Nothing is
# lost if the script waits for the right condition before the second kill.
up 2 train drift --servers 4 --replicas 2 --epochs 6
wait step>=20
kill s0
kill s1
wait done --timeout 3s
