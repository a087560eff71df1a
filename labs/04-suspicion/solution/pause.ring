# pause.ring: node 1 of four falls asleep in the middle of its work, and the
# others must declare it dead.
up 4 ops --bytes 20K
wait step>=5
pause 1
wait alive==3
resume 1
wait alive==4
