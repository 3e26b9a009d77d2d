#!/bin/bash
# DeepSpeed's configuration is made of a template by sed.
MICRO_BATCH=2
GLOBAL_BATCH=256
ZERO_STAGE=1
CONFIG=ds_config_run.json
sed "s/CONFIG_BATCH_SIZE/${GLOBAL_BATCH}/" parts/ds_config.template \
  | sed "s/CONFIG_MICRO_BATCH/${MICRO_BATCH}/" \
  | sed "s/CONFIG_STAGE/${ZERO_STAGE}/" \
  > ${CONFIG}

deepspeed --num_nodes 4 --num_gpus 8 pretrain_gpt.py \
  --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 \
  --tensor-model-parallel-size 2 --micro-batch-size ${MICRO_BATCH} --global-batch-size ${GLOBAL_BATCH} \
  --train-samples 1000000 --fp16 --tokenizer-type GPT2BPETokenizer \
  --deepspeed --deepspeed_config ${CONFIG} --zero-stage ${ZERO_STAGE} --no-pipeline-parallel
