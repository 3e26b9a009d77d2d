accelerate launch --num_processes 8 -m axolotl.cli.train axolotl_fft.yaml
