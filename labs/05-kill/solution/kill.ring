# kill.ring: a real ring of four loses a member in the middle of its sums, and
# gets it back.
up 4 ops --bytes 20K --count 200 --pace 1ms
wait step>=20
kill 2
wait alive==3
restart 2
wait alive==4
wait done
