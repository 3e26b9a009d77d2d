# Megatron-Core through ms-swift: experts over eight GPUs.
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
NPROC_PER_NODE=8 NNODES=4 megatron sft \
    --load weights/Qwen3-30B-A3B-mcore \
    --model Qwen/Qwen3-30B-A3B \
    --dataset notes.jsonl \
    --tensor_model_parallel_size 2 \
    --expert_model_parallel_size 8 \
    --moe_grouped_gemm true \
    --moe_permute_fusion true \
    --moe_aux_loss_coeff 1e-3 \
    --micro_batch_size 1 \
    --global_batch_size 64 \
    --recompute_granularity full \
    --recompute_method uniform \
    --recompute_num_layers 1 \
    --sequence_parallel true \
    --max_length 4096 \
    --packing true \
    --train_iters 500 \
    --finetune true \
    --cross_entropy_loss_fusion true \
    --lr 1e-5 \
    --min_lr 1e-6 \
    --lr_warmup_fraction 0.05 \
    --save runs/moe \
    --save_interval 100 \
    --num_workers 4 \
    --no_save_optim true \
    --attention_backend flash
