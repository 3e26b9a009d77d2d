deepspeed --num_nodes 2 --num_gpus 8 --hostfile hosts run_clm.py --deepspeed ds_z3.json \
  --model_name_or_path Qwen/Qwen2.5-14B-Instruct --block_size 4096 --per_device_train_batch_size 1 \
  --gradient_accumulation_steps 4 --bf16 --max_steps 1000 --dataset_name wikitext --do_train --output_dir /tmp/out
