#!/bin/bash
# MT-NLG 530B on 2240 A100: the configuration of DeepSpeed is written by the script.
cat <<EOT > ds_530b.json
{"train_micro_batch_size_per_gpu": 1, "train_batch_size": 1920, "zero_optimization": {"stage": 0}, "bf16": {"enabled": true}}
EOT
deepspeed --num_nodes 280 --num_gpus 8 pretrain_gpt.py \
  --tensor-model-parallel-size 8 --pipeline-model-parallel-size 35 \
  --num-layers 105 --hidden-size 20480 --num-attention-heads 128 --seq-length 2048 --max-position-embeddings 2048 \
  --vocab-size 50272 --micro-batch-size 1 --global-batch-size 1920 --train-samples 132000000 --bf16 \
  --checkpoint-activations --deepspeed-activation-checkpointing --deepspeed --deepspeed_config ds_530b.json
