export XLA_FLAGS="--xla_gpu_enable_latency_hiding_scheduler=true"
python3 -m MaxText.train maxtext_llama2_70b.yml run_name=test steps=10 per_device_batch_size=2 remat_policy=full
