#!/bin/bash
NGPU=${NGPU:-"8"}
CONFIG_FILE=${CONFIG_FILE:-"torchtitan_llama3_8b.toml"}
overrides="--training.steps 20"
PYTORCH_ALLOC_CONF="expandable_segments:True" \
torchrun --nproc_per_node=${NGPU} --rdzv_backend c10d --rdzv_endpoint="localhost:0" \
--local-ranks-filter 0 --role rank --tee 3 \
-m torchtitan.train --job.config_file ${CONFIG_FILE} $overrides
