"""The configurations of pytorch_transformers.py as records without values, in the keys of published results:

    python3 records.py CONFIGURATION... >records.json; simulate --predict records.json --json predicted.json
"""
import json
import sys

FACTS = {
    "gpt2": dict(model="GPT-2", layers=12, hidden=768, heads=12, vocab=50257),
    "gpt2_medium": dict(model="GPT-2 medium", layers=24, hidden=1024, heads=16, vocab=50257),
    "gpt2_xl": dict(model="GPT-2 XL", layers=48, hidden=1600, heads=25, vocab=50257),
    "llama3_2_1b": dict(model="Llama 3.2 1B"), "llama3_2_3b": dict(model="Llama 3.2 3B"),
    "llama2_7b": dict(model="Llama 2 7B")}
records = []
for configuration in sys.argv[1:]:
    name, sequence, batch, *words = configuration.split(":")
    facts = dict(id=configuration, source="own measurement, 2026-11-26", **FACTS[name.removeprefix("hf-")])
    facts.update(seq=int(sequence), gpus=1, gpu="H100-80GB-SXM", microbatch=int(batch), global_batch=int(batch),
                 precision="tf32" if "tf32" in words else "bf16", software="pytorch",
                 recompute="full" if "recompute" in words else "none", metric="step_time", unit="s")
    records.append(facts)
    records.append(dict(facts, id=configuration + " memory", metric="peak_memory", unit="GB"))
json.dump(records, sys.stdout, indent=1)
