#!/bin/bash
# FSDP by the Trainer's arguments; the cluster gives NNODES, which defaults to two nodes here.
NNODES=${NNODES:-2}
GPUS_PER_NODE=${GPUS_PER_NODE:-8}
ARGS=(
  --model_name_or_path meta-llama/Llama-3.1-8B  # a comment between the elements
  --bf16 True
  --per_device_train_batch_size 2
  --gradient_accumulation_steps 4
  --max_seq_length 4096
)
if [ -z "$HF_TOKEN" ]; then
  echo "set HF_TOKEN"
  exit 1
fi
torchrun --nnodes $NNODES --nproc_per_node $GPUS_PER_NODE --rdzv_backend c10d run_clm.py \
  "${ARGS[@]}" \
  --fsdp "shard_grad_op auto_wrap" \
  --fsdp_config parts/fsdp.json \
  --max_steps 1500 --learning_rate 2e-5 --output_dir out
