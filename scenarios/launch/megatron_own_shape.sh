# A shape that no published model has.
python -m torch.distributed.launch --nproc_per_node=4 pretrain_gpt.py \
  --num-layers 30 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 \
  --micro-batch-size 4 --global-batch-size 64 --train-iters 1000 --fp16 --tensor-model-parallel-size 2 \
  --vocab-size 50257 --tokenizer-type GPT2BPETokenizer --frobnicate 7
