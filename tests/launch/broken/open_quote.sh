A="--num-layers 32
torchrun --nproc_per_node 8 pretrain_gpt.py $A
