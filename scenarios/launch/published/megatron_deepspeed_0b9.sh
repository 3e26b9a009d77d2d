#!/bin/bash
# GPT 0.91B on 4 A100, by MPI's processes.
mpirun -np 4 --npernode 4 python pretrain_gpt.py \
  --tensor-model-parallel-size 1 --pipeline-model-parallel-size 1 \
  --num-layers 16 --hidden-size 2048 --num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 \
  --vocab-size 51200 --micro-batch-size 2 --global-batch-size 32 --train-iters 10 --fp16 \
  --checkpoint-activations --deepspeed --zero-stage 0
