#!/bin/bash
# Nemotron 3 Nano 30B-A3B on 16 GPUs: Mamba-2, attention and experts by the letters of the pattern.
export CUDA_DEVICE_MAX_CONNECTIONS=1
MODEL_ARGS=(
  --use-mcore-models
  --is-hybrid-model
  --hybrid-override-pattern "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"
  --num-layers 52
  --hidden-size 2688
  --ffn-hidden-size 1856
  --num-attention-heads 32
  --group-query-attention
  --num-query-groups 2
  --kv-channels 128
  --mamba-num-heads 64
  --mamba-head-dim 64
  --mamba-state-dim 128
  --mamba-num-groups 8
  --num-experts 128
  --moe-router-topk 6
  --moe-ffn-hidden-size 1856
  --moe-shared-expert-intermediate-size 3712
  --squared-relu
  --disable-bias-linear
  --normalization RMSNorm
  --position-embedding-type none
  --untie-embeddings-and-output-weights
  --vocab-size 131072
  --max-position-embeddings 8192
  --hidden-dropout 0
  --attention-dropout 0
)
torchrun --nproc-per-node 8 --nnodes 2 pretrain_mamba.py "${MODEL_ARGS[@]}" \
  --seq-length 8192 \
  --micro-batch-size 1 \
  --global-batch-size 1024 \
  --expert-model-parallel-size 8 \
  --use-distributed-optimizer \
  --bf16 \
  --train-samples 1000000
