# death.ring: three workers train with two parameter servers. A worker dies, and
# another one joins.
up 3 --servers 2 --mode bsp train mf --epochs 4 --parts 3
wait step>=20
kill 1
wait alive==4
add
wait alive==5
wait done
