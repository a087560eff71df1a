# tour.ring: five members run 100 all-reduces, and one member dies on the way.
#
# The script waits for the end of the work: a script that ends stops its run.
up 5 ops --bytes 20K --count 100 --pace 1ms
wait step>=20
kill 3
wait alive==4
wait done
