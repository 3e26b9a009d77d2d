#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
#SBATCH --ntasks-per-node=8
# A recipe of Megatron-Bridge with overrides; --model gives the recipe's model.
CONTAINER=${CONTAINER:-nemo.sqsh}
OVERRIDES="train.global_batch_size=128 train.micro_batch_size=1 train.train_iters=500 \
  mixed_precision=bf16_mixed model.tensor_model_parallel_size=2 model.pipeline_model_parallel_size=1 model.seq_length=8192 logger.log_interval=10"
CMD="cd /opt/Megatron-Bridge && uv run python scripts/training/run_recipe.py --recipe llama3_8b_pretrain_config $OVERRIDES"
srun --mpi=pmix --container-image=$CONTAINER bash -c "$CMD"
