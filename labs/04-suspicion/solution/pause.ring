# pause.ring: node 1 of four falls asleep in the midst of its work, and the
# others must take it for dead.
up 4 ops --bytes 20K
wait step>=5
pause 1
wait alive==3
resume 1
wait alive==4
