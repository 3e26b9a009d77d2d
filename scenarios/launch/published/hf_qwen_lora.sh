#!/bin/bash
# Qwen 1.8B with LoRA on one A100.
CUDA_VISIBLE_DEVICES=0 python finetune.py --model_name_or_path Qwen/Qwen-1_8B-Chat --bf16 True \
  --per_device_train_batch_size 1 --gradient_accumulation_steps 8 --model_max_length 256 \
  --use_lora --lora_rank 64 --lora_target_modules c_attn c_proj w1 w2 --gradient_checkpointing --max_steps 30
