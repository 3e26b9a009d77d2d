"""What PyTorch took on the two H100s as records of a suite:

    python3 results/h100/2026-11-26/suite.py >scenarios/published/suites/measured-h100.json
"""
import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = "Lockstep's own measurements, two H100 SXM, 26 November 2026"
MODELS = {"gpt2": "gpt2", "gpt2_medium": "gpt2_medium", "gpt2_xl": "gpt2_xl", "llama3_2_1b": "llama3_2_1b",
          "llama3_2_3b": "llama3_2_3b", "llama2_7b": "llama2_7b"}


def use(group):
    """The half by the 64-bit FNV-1a hash of the group's name, as all suites have it."""
    value = 0xCBF29CE484222325
    for byte in group.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return "test" if value % 2 else "fit"


def lines(path):
    with open(os.path.join(HERE, path), encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.startswith("{")]


def record(identity, group, path, **facts):
    return {"id": identity, "role": "target", "use": use(group), "group": group, "source": SOURCE, "where": path,
            "url_or_seed": "results/h100/2026-11-26/" + path, "gpu": "h100-sxm", "gpus": 1, "gpus_per_node": 1, **facts}


def transformers():
    for path in ("first/transformers.jsonl", "second/transformers_compiled.jsonl",
                 "second/probe_truth.jsonl"):
        for line in lines(path):
            if "configuration" not in line or "step_s" not in line:
                continue
            name, words = line["model"], line["words"]
            plain = name[3:] if name.startswith("hf-") else name
            software = "transformers" if name != plain else "pytorch-compiled" if "compile" in words else "pytorch-ddp"
            group = "H100-" + plain
            facts = dict(software=software, model=MODELS[plain], seq=line["sequence"], batch_per_gpu=line["batch"],
                         precision="tf32" if "tf32" in words else "mixed" if "amp" in words else "bf16-true",
                         optimizer="adam")
            if "unfused" in words:
                facts["fused_attention"] = False
            if "recompute" in words:
                facts.update(recompute="full", microbatch=line["batch"], global_batch=line["batch"], tp=1, pp=1, dp=1)
                del facts["batch_per_gpu"]
            identity = "H100-" + line["configuration"].replace(":", "-")
            yield record(identity, group, path, metric="iteration_s", unit="ms", value=round(1e3 * line["step_s"], 4), **facts)
            yield record(identity + "-memory", group, path, metric="peak_memory", unit="GB",
                         value=round(line["memory_bytes"] / 1e9, 3), memory_counter="allocated", **facts)


def networks_of_images():
    for path in ("first/resnet50.jsonl", "second/resnet50.jsonl", "second/probe_truth.jsonl"):
        for line in lines(path):
            if not line["program"].startswith("PyTorch") or line["model"] != "resnet50" or "images_per_s" not in line:
                continue
            precision = "tf32" if line["precision"] == "tf32" else "mixed"
            identity = f"H100-resnet50-{line['precision']}-{line['batch']}"
            yield record(identity, "H100-resnet50", path, metric="images_per_s", unit="images/s",
                         value=round(line["images_per_s"]["median"], 2), software="pytorch-ddp", model="resnet50",
                         batch_per_gpu=line["batch"], precision=precision, channels_last=True)


def main():
    records = sorted([*transformers(), *networks_of_images()], key=lambda one: one["id"])
    head = {"schema": "lockstep/suite/1", "name": "measured-h100",
            "description": "Steps and peaks of memory of PyTorch 2.11 on one H100, as results/h100/2026-11-26 has them: written by its suite.py. "
                           "What was predicted before they were measured is in predicted_before.json there.",
            "tolerances": {"median_error": 0.3, "coverage": 0.7, "median_width": 0.6, "why": "one machine, small jobs"}}
    text = json.dumps(head, indent=1, ensure_ascii=False)[:-2] + ',\n "records": [\n'
    print(text + ",\n".join("  " + json.dumps(one) for one in records) + "\n ]\n}")


main()
