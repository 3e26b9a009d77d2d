accelerate launch --config_file accelerate_fsdp.yaml --main_process_port 29501 sft.py \
  --model_name_or_path Qwen/Qwen2-7B --max_seq_length 4096 --per_device_train_batch_size 2 \
  --gradient_accumulation_steps 4 --gradient_checkpointing --bf16 --learning_rate 1e-5
