#!/bin/bash
# Sizes in a file that the script sources; processes by MPI, arguments in a here-document's configuration and an array.
source "$(dirname "${BASH_SOURCE[0]}")/parts/sizes.sh"
WORLD=$(( NODES * GPUS_PER_NODE ))
GLOBAL_BATCH=$(( WORLD / (TP * PP) * MICRO_BATCH * ACCUMULATION ))

model_args() {
  local layers=$1 hidden=$2
  ARGS="--num-layers ${layers} --hidden-size ${hidden} --num-attention-heads $3"
}
model_args 40 5120 40

if [[ "${USE_RECOMPUTATION:-yes}" == "yes" ]]; then
  ARGS+=" --recompute-granularity selective"
fi

mpirun --allow-run-as-root -np ${WORLD} -H node-1:8,node-2:8 -x PATH -x NCCL_DEBUG=WARN -mca btl ^openib \
  python pretrain_gpt.py $ARGS \
    --seq-length 2048 --max-position-embeddings 2048 --vocab-size 51200 \
    --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP \
    --micro-batch-size $MICRO_BATCH --global-batch-size $GLOBAL_BATCH \
    --train-iters 20000 --lr 1e-4 --bf16 --use-distributed-optimizer "$@"
