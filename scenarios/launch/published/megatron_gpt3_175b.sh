#!/bin/bash
# GPT-3 175B on 1024 A100, in the layout of Megatron-LM's example.
GPUS_PER_NODE=8
NUM_NODES=128
MODEL=(--num-layers 96 --hidden-size 12288 --num-attention-heads 96 --seq-length 2048 --max-position-embeddings 2048)
TRAINING=(--micro-batch-size 1 --global-batch-size 1536 --train-iters 500000 --fp16 --lr 6.0e-5)
RECOMPUTE=(--recompute-granularity full --recompute-method uniform)
PARALLEL=(--tensor-model-parallel-size 8 --pipeline-model-parallel-size 16)
torchrun --nproc_per_node $GPUS_PER_NODE --nnodes $NUM_NODES pretrain_gpt.py \
  "${MODEL[@]}" "${TRAINING[@]}" "${PARALLEL[@]}" "${RECOMPUTE[@]}" --tokenizer-type GPT2BPETokenizer
