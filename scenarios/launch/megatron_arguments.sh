#!/bin/bash
# Only arguments: another script sources this one and starts the training.
MODEL_ARGS=" \
  --num-layers 36 \
  --hidden-size 4096 \
  --num-attention-heads 32 \
  --group-query-attention --num-query-groups 8 \
  --ffn-hidden-size 12288 --swiglu \
  --normalization RMSNorm --disable-bias-linear --qk-layernorm \
  --position-embedding-type rope --kv-channels 128 \
  --untie-embeddings-and-output-weights \
  --seq-length 4096 --max-position-embeddings 40960"
PARALLEL_ARGS=(
  --tensor-model-parallel-size 4
  --sequence-parallel
  --micro-batch-size 1
  --global-batch-size 64
  --bf16
)
