FORCE_TORCHRUN=1 NNODES=1 llamafactory-cli train llama_factory_full.yaml
