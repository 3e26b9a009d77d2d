#!/bin/bash
# GPT-2 on one H100, measured by this project.
CUDA_VISIBLE_DEVICES=0 python run_clm.py --model_name_or_path gpt2 --block_size 1024 --bf16 \
  --per_device_train_batch_size 16 --max_steps 20
