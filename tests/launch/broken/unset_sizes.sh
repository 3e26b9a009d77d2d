# Sizes come from the environment, which is not known.
torchrun --nnodes $NNODES --nproc_per_node $GPUS pretrain_gpt.py --num-layers $LAYERS --hidden-size 4096 \
  --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 \
  --tensor-model-parallel-size $TP --global-batch-size 64 --bf16 $EXTRA_ARGS
