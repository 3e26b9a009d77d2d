#!/bin/bash
# Forms that launch scripts share: functions that print arguments, tables, here-documents, and a command in a variable.
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
set -euo pipefail

RUN=llama-8b-base
SIZE=${RUN#*-}
SIZE=${SIZE%%-*}
declare -A TENSOR=([8b]=2 [70b]=8)

model_args() {
  case "$1" in
    8b) echo "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32" ;;
    70b) echo "--num-layers 80 --hidden-size 8192 --ffn-hidden-size 28672 --num-attention-heads 64" ;;
  esac
  echo "--group-query-attention --num-query-groups 8"
}

IFS=, read -r MICRO GLOBAL <<< "1,128"
(( ITERATIONS = 1000 * 1000 / GLOBAL ))
printf -v BATCH -- "--micro-batch-size %d --global-batch-size %d" "$MICRO" "$GLOBAL"
COMMON=$(cat <<ARGS
--seq-length 8192 --max-position-embeddings 8192 --position-embedding-type rope
--normalization RMSNorm --swiglu --disable-bias-linear --untie-embeddings-and-output-weights
--attention-dropout 0 --hidden-dropout 0 --vocab-size 128256
ARGS
)

ARGS=($(model_args "$SIZE") $COMMON $BATCH)
read -r -d '' cmd <<CMD || true
torchrun --nnodes \$SLURM_NNODES --nproc_per_node 8 pretrain_gpt.py ${ARGS[*]} \
  --tensor-model-parallel-size ${TENSOR[$SIZE]} --sequence-parallel --use-distributed-optimizer --bf16 \
  --train-iters $ITERATIONS
CMD
srun --container-image=megatron bash -c "$cmd"
