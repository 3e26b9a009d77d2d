#!/bin/bash
#SBATCH --job-name=gpt3-175b
#SBATCH --nodes=16
#SBATCH --gres=gpu:h100:8
#SBATCH --ntasks-per-node=8
#SBATCH --time=04:00:00

DIR=`pwd`
GPT_ARGS=" \
    --num-layers 96 \
    --hidden-size 12288 \
    --num-attention-heads 96 \
    --seq-length 2048 \
    --max-position-embeddings 2048 \
    --attention-backend auto"
TRAINING_ARGS="--micro-batch-size 1 --global-batch-size 1536 --rampup-batch-size 16 16 5859375 \
    --train-iters 500000 --fp16 --lr 6.0e-5 --min-lr 6.0e-6 --lr-warmup-fraction .001"
MODEL_PARALLEL_ARGS="--tensor-model-parallel-size 8 --pipeline-model-parallel-size 16"
options=" \
    $GPT_ARGS $TRAINING_ARGS $MODEL_PARALLEL_ARGS \
    --recompute-activations \
    --num-layers-per-virtual-pipeline-stage 3 \
    --data-path ${DATA_PATH} --vocab-file vocab.json --merge-file merges.txt \
    --tokenizer-type GPT2BPETokenizer \
    --split 949,50,1 --log-interval 100"
run_cmd="python -u ${DIR}/pretrain_gpt.py $options"
srun -l --container-image $IMAGE sh -c "${run_cmd}"
