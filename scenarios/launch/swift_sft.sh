#!/bin/bash
# Full fine-tuning of Qwen2.5 7B on two nodes, with ms-swift and ZeRO 3.
export HF_HOME=/scratch/hub
NNODES=2 \
NPROC_PER_NODE=8 \
MASTER_ADDR=node-0 \
MASTER_PORT=29501 \
swift sft \
    --model Qwen/Qwen2.5-7B-Instruct \
    --train_type full \
    --dataset notes.jsonl \
    --split_dataset_ratio 0.02 \
    --torch_dtype bfloat16 \
    --max_length 8192 \
    --per_device_train_batch_size 2 \
    --gradient_accumulation_steps 4 \
    --num_train_epochs 2 \
    --learning_rate 2e-5 \
    --warmup_ratio 0.03 \
    --attn_impl flash_attn \
    --deepspeed zero3 \
    --save_only_model true \
    --output_dir runs/qwen7b
