up 4 exec TRAIN
slow 0 200ms
wait step>=3
kill 2
wait alive==3
add
wait alive==4
slow 0 0s
wait done
