# Sourced by megatron_mpirun.sh.
export NODES=2
export GPUS_PER_NODE=${GPUS_PER_NODE:=8}
TP=4; PP=2
MICRO_BATCH=1
ACCUMULATION=32
