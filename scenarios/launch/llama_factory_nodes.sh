#!/bin/bash
# LLaMA-Factory starts a process on each visible GPU of its nodes.
FORCE_TORCHRUN=1 NNODES=2 NODE_RANK=0 MASTER_ADDR=10.0.0.1 CUDA_VISIBLE_DEVICES=0,1,2,3 \
  llamafactory-cli train llama_factory_full.yaml
