#!/bin/bash
#SBATCH --nodes=8
#SBATCH --gpus-per-node=8
#SBATCH --ntasks-per-node=8
# A recipe for Llama 3 70B with the splits of the table.
srun python run_recipe.py --recipe llama3_70b_pretrain_config \
  train.micro_batch_size=1 train.global_batch_size=256 train.train_iters=50 mixed_precision=bf16_with_fp8_mixed \
  model.seq_length=8192 model.tensor_model_parallel_size=4 model.pipeline_model_parallel_size=8 \
  model.virtual_pipeline_model_parallel_size=5 model.context_parallel_size=1 model.sequence_parallel=true \
  ddp.use_distributed_optimizer=true
