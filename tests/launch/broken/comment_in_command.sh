torchrun --nproc_per_node 8 pretrain_gpt.py \
  --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \
  # --recompute-granularity full \
  --micro-batch-size 1 --global-batch-size 64
