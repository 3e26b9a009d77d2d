#!/bin/bash
# Mixtral 8x7B on eight nodes by an older launcher.
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
NNODES=${NNODES:-"8"}
if [ -z "$TP" ]; then TP=1; fi

DISTRIBUTED_ARGS="--nproc_per_node $GPUS_PER_NODE --nnodes $NNODES --node_rank ${RANK:-0} --master_addr $MASTER_ADDR"
MODEL_ARGS="--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 \
  --group-query-attention --num-query-groups 8 --seq-length 4096 --max-position-embeddings 32768 \
  --position-embedding-type rope --swiglu --normalization RMSNorm --disable-bias-linear \
  --untie-embeddings-and-output-weights --no-masked-softmax-fusion --attention-dropout 0 --hidden-dropout 0"
MOE_ARGS=(--num-experts 8 --moe-router-topk 2 --moe-router-load-balancing-type aux_loss
  --moe-aux-loss-coeff 1e-2 --moe-grouped-gemm --moe-token-dispatcher-type alltoall)
python3 -m torch.distributed.run $DISTRIBUTED_ARGS pretrain_gpt.py $MODEL_ARGS "${MOE_ARGS[@]}" \
  --micro-batch-size 1 --global-batch-size 256 --train-iters 500000 --bf16 \
  --tensor-model-parallel-size $TP --pipeline-model-parallel-size 4 --expert-model-parallel-size 4 \
  --num-layers-per-virtual-pipeline-stage 8 --sequence-parallel --use-distributed-optimizer \
  --tokenizer-type Llama2Tokenizer --tokenizer-model /models/Mixtral-8x7B-v0.1 --data-path data --vocab-size 32000
