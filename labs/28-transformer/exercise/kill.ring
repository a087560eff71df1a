# Train with four processes, kill one, let one join, and wait for the end. TRAIN is the
# command with its options, which the check replaces.
up 4 exec TRAIN
wait step>=3
wait done
