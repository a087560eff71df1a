# Four servers, two replicas of each slot, and two servers that die. After
# the first death, others copy its slots; then each slot has two replicas again.
up 2 train drift --servers 4 --replicas 2 --epochs 6
wait step>=20
kill s0
wait replicas==2
kill s1
wait done
