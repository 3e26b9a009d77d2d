#!/bin/bash
#SBATCH -N 32
#SBATCH --gpus-per-node=8
#SBATCH --ntasks-per-node=8
# DeepSeek-V3: latent attention, experts behind three dense layers.
export NVTE_FUSED_ATTN=1
ARGS=(
  --num-layers 61 --hidden-size 7168 --ffn-hidden-size 18432 --num-attention-heads 128 --kv-channels 128
  --seq-length 4096 --max-position-embeddings 4096 --position-embedding-type rope --normalization RMSNorm
  --swiglu --disable-bias-linear --untie-embeddings-and-output-weights --qk-layernorm
  --multi-latent-attention --q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128 --qk-pos-emb-head-dim 64 --v-head-dim 128
  --num-experts 256 --moe-layer-freq "([0]*3+[1]*58)" --moe-ffn-hidden-size 2048 --moe-router-topk 8
  --moe-shared-expert-intermediate-size 2048 --moe-router-enable-expert-bias --moe-router-score-function sigmoid
  --moe-router-num-groups 8 --moe-router-group-topk 4 --moe-grouped-gemm --moe-permute-fusion
  --moe-token-dispatcher-type flex --moe-enable-deepep --mtp-num-layers 1 --mtp-loss-scaling-factor 0.1
  --make-vocab-size-divisible-by 3232 --vocab-size 129280
)
srun --mpi=pmix python pretrain_gpt.py "${ARGS[@]}" \
  --tensor-model-parallel-size 2 --pipeline-model-parallel-size 8 --expert-model-parallel-size 32 \
  --expert-tensor-parallel-size 1 --sequence-parallel --use-distributed-optimizer \
  --micro-batch-size 1 --global-batch-size 8192 --train-samples 585937500 \
  --recompute-granularity selective --recompute-modules mla_up_proj layernorm moe_act \
  --fp8-format e4m3 --fp8-recipe blockwise --bf16 --overlap-moe-expert-parallel-comm \
  --attention-dropout 0.0 --hidden-dropout 0.0
