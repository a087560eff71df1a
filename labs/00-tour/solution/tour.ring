# tour.ring: five members add up 100 times, and one dies on the way.
#
# wait done comes last: a script that ends takes its run down with it.
up 5 ops --bytes 20K --count 100 --pace 1ms
wait step>=20
kill 3
wait alive==4
wait done
