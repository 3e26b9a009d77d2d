#!/bin/bash
# Fine-tunes Llama 2 7B by a script around the Trainer.
export WANDB_PROJECT=finetune OMP_NUM_THREADS=8
torchrun --nproc_per_node=8 --master_port=29500 train.py \
  --model_name_or_path meta-llama/Llama-2-7b-hf \
  --data_path ./alpaca_data.json --output_dir out \
  --bf16 True --num_train_epochs 3 \
  --per_device_train_batch_size 4 --per_device_eval_batch_size 4 \
  --gradient_accumulation_steps 8 --evaluation_strategy no \
  --save_strategy steps --save_steps 2000 --save_total_limit 1 \
  --learning_rate 2e-5 --weight_decay 0. --warmup_ratio 0.03 --lr_scheduler_type cosine --logging_steps 1 \
  --model_max_length 2048 \
  --fsdp "full_shard auto_wrap" --fsdp_transformer_layer_cls_to_wrap LlamaDecoderLayer --tf32 True \
  --gradient_checkpointing True
