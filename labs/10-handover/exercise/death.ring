# death.ring: three workers learn from two parameter servers. A worker dies,
# and another one joins.
#
# Here nobody dies. Make it: wait for 20 steps, kill 1, wait until it is
# missed, add a worker, wait until that is there (alive counts servers, too),
# and wait until the work is done (ringctl(1)).
up 3 --servers 2 --mode bsp train mf --epochs 4 --parts 3
wait step>=20
