# death.ring: three workers train with two parameter servers. A worker dies, and
# another one joins.
#
# In this version no worker dies. Make it wait for 20 steps, kill 1, wait until the
# death is detected, add a worker, wait until it is alive (alive counts servers,
# too), and wait until the work is done (ringctl(1)).
up 3 --servers 2 --mode bsp train mf --epochs 4 --parts 3
wait step>=20
