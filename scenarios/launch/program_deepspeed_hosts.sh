#!/bin/bash
# A program with arguments of its own: DeepSpeed's configuration and the list of hosts describe the job.
SCRIPT_DIR=$(cd "$(dirname "$0")" && pwd)
export NCCL_DEBUG=WARN

deepspeed --include "node-a:0,1,2,3,4,5,6,7@node-b:0,1,2,3,4,5,6,7" --master_port 29512 \
  train_encoder.py \
  --model_name_or_path bert-large-uncased \
  --max_seq_length 512 \
  --deepspeed_config ${SCRIPT_DIR}/ds_config_zero2.json \
  --seed 7
