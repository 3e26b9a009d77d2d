#!/bin/bash
# GPT by Megatron-DeepSpeed; the script writes DeepSpeed's configuration itself.
num_gpus=8
micro=4
config_json="ds_config_generated.json"
cat <<EOT > $config_json
{
  "train_batch_size": 256,
  "train_micro_batch_size_per_gpu": $micro,
  "steps_per_print": 10,
  "zero_optimization": {"stage": 1},
  "bf16": {"enabled": true},
  "gradient_clipping": 1.0
}
EOT
megatron_options="--tensor-model-parallel-size 1 --no-pipeline-parallel --num-layers 24 --hidden-size 2048 \
  --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size ${micro} \
  --global-batch-size 256 --train-tokens 300000000000 --lr 2.0e-4 --bf16 --vocab-file gpt2-vocab.json \
  --merge-file gpt2-merges.txt --tokenizer-type GPT2BPETokenizer --checkpoint-activations"
deepspeed_options="--deepspeed --deepspeed_config ${config_json} --zero-stage 1 --deepspeed-activation-checkpointing"
deepspeed --num_gpus $num_gpus pretrain_gpt.py ${megatron_options} ${deepspeed_options} &> log.txt
