#!/usr/bin/python3
"""The Python package: jobs, predictions, plans; the command line gives the same bytes; threads; errors.

usage: package_test.py BUILD_FOLDER
"""
import dataclasses
import enum
import json
import os
import pathlib
import pickle
import random
import subprocess
import sys
import tempfile
import threading
import unittest

BUILD = pathlib.Path(sys.argv[1]).resolve()
SOURCES = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(BUILD / "python"))
import lockstep  # noqa: E402
from lockstep._options import options_of  # noqa: E402

RESNET = dict(model="resnet50", gpu="H100", gpus=[8, 64], batch=128)
SPLIT = dict(model="llama3_8b", gpu="H100", gpus=64, tensor=2, pipeline=1, micro_batch=1, global_batch=256, recompute="none",
             sharding="zero1", tokens="1T")


def of_command_line(job, output):
    """What `simulate job --json` writes of the job, and the exit code with the message."""
    words = [str(BUILD / "simulate"), "job"]
    for key, value in job.options.items():
        option = options_of("options")[key]["option"]
        if isinstance(value, bool):
            words += [option] if value else ["--no-" + option[2:]] if options_of("options")[key]["negation"] else []
        else:
            words += [option, ",".join(map(str, value)) if isinstance(value, list) else str(value)]
    done = subprocess.run(words + ["--json", str(output)], capture_output=True, text=True)
    return done.returncode, done.stderr


class Draws:
    """Random jobs in the options of many kinds of users."""

    def __init__(self, seed):
        self.of = random.Random(seed)

    def job(self):
        of = self.of
        options = dict(gpu=of.choice(["H100", "A100", "B200", "V100", "MI300X", "L40S"]))
        if of.random() < 0.5:
            options.update(model=of.choice(["resnet50", "vgg16", "vit_b_16", "alexnet"]), batch=of.choice([16, 32, 64]),
                           gpus=of.choice([8, 16, [8, 32]]))
            if of.random() < 0.4:
                options["epochs"] = 90
        else:
            options.update(model=of.choice(["gpt2_xl", "llama3_8b", "bert_large", "mixtral_8x7b"]),
                           gpus=of.choice([8, 16, 64]), global_batch=of.choice([128, 256, 512]))
            if of.random() < 0.5:
                options.update(tensor=of.choice([1, 2, 4]), micro_batch=of.choice([1, 2]), sequence=of.choice([True, False]))
            if of.random() < 0.4:
                options.update(tokens="300B", price=2.5)
        if of.random() < 0.3:
            options["network"] = of.choice(["8x 400 Gb/s InfiniBand", "100 GbE", "4x 200 Gb/s"])
        if of.random() < 0.2:
            options["ignore_memory"] = True
        return lockstep.Job(**options)


class Package(unittest.TestCase):
    def test_numbers_of_a_prediction(self):
        prediction = lockstep.predict(lockstep.Job(**RESNET))
        self.assertEqual([row["gpus"] for row in prediction.rows], [8, 64])
        self.assertLess(prediction.samples_per_s_low, prediction.samples_per_s)
        self.assertLess(prediction.samples_per_s, prediction.samples_per_s_high)
        self.assertLess(prediction.rows[0]["samples_per_s"], prediction["samples_per_s"])
        parts = prediction.memory["parts"]
        self.assertAlmostEqual(sum(parts.values()), prediction.memory["bytes"], delta=1)
        layers = prediction.layers()
        self.assertAlmostEqual(sum(layer["parameters"] for layer in layers), 25557032, delta=1)
        self.assertIn("compute_s", prediction.breakdown)
        self.assertGreater(len(prediction.timeline()), 100)
        self.assertIn("<table>", prediction._repr_html_())
        self.assertIn("ResNet-50", prediction.table())
        self.assertTrue(all("source" in one for one in prediction.assumptions))

    def test_one_gpu_has_layers_too(self):
        prediction = lockstep.predict(**{**RESNET, "gpus": 1})
        self.assertAlmostEqual(prediction.batch_per_gpu / prediction.iteration_s, prediction.samples_per_s,
                               delta=1e-9 * prediction.samples_per_s)
        self.assertAlmostEqual(prediction.breakdown["compute_s"], prediction.iteration_s, delta=1e-9)
        spent_s = sum(layer[part] for layer in prediction.layers() for part in ("forward_s", "backward_s", "update_s"))
        self.assertAlmostEqual(spent_s, prediction.iteration_s, delta=0.01 * prediction.iteration_s)
        self.assertTrue(prediction.timeline())

    def test_a_split_job_has_tokens_and_a_training_time(self):
        prediction = lockstep.predict(**SPLIT)
        self.assertGreater(prediction.mfu, 0.2)
        self.assertLess(prediction.mfu, 0.7)
        self.assertAlmostEqual(prediction.training_s, 1e12 / prediction.tokens_per_s, delta=0.01 * prediction.training_s)
        self.assertAlmostEqual(sum(prediction.breakdown.values()), prediction.iteration_s, delta=0.01 * prediction.iteration_s)
        stages = {event["pid"] for event in lockstep.predict(**{**SPLIT, "pipeline": 2}).timeline() if event["ph"] == "X"}
        self.assertEqual(len(stages), 2)
        whole = {**SPLIT, "tensor": 1, "sharding": "none", "model": "gpt2_xl", "gpus": 16}
        self.assertTrue(lockstep.predict(**whole).timeline())

    def test_the_command_line_gives_the_same_bytes_for_random_jobs(self):
        draws, answered, cases = Draws(20261128), 0, int(os.environ.get("LOCKSTEP_RANDOM_CASES", "200"))
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder) / "job.json"
            for _ in range(cases):
                job = draws.job()
                code, message = of_command_line(job, output)
                with self.subTest(job=job.command_line()):
                    try:
                        own = lockstep.predict(job).to_dict()
                    except lockstep.LockstepError as error:
                        self.assertEqual((code, str(error)), (2, message.strip()))
                        continue
                    self.assertEqual(code, 0, message)
                    self.assertEqual(json.dumps(own, indent=2), json.dumps(json.loads(output.read_text()), indent=2))
                    answered += 1
        self.assertGreater(answered, cases // 2)

    def test_errors_are_those_of_the_command(self):
        for options, part in ((dict(modle="resnet50"), "nearest: model"), (dict(model="resnet5", gpu="H100", gpus=8), "resnet50"),
                              (dict(model="resnet50", gpu="H100", gpus=0), "1048576"),
                              (dict(model="resnet50", gpu="H100"), "--gpus is missing")):
            with self.assertRaises(lockstep.LockstepError) as refused:
                lockstep.predict(**options)
            self.assertIn(part, str(refused.exception))
        with self.assertRaises(ValueError):
            lockstep.predict(model="resnet50", gpu="H100", gpus=8, batch="many")

    def test_jobs_are_values(self):
        job = lockstep.Job(**RESNET)
        self.assertEqual(job.replace(gpus=16).gpus, 16)
        self.assertEqual(job.replace(batch=None).options, {key: value for key, value in RESNET.items() if key != "batch"})
        self.assertEqual(job, lockstep.Job(**RESNET))
        self.assertIsNone(job.tensor)
        self.assertEqual(eval(repr(job)), job)
        self.assertIn("--gpus 8,64", job.command_line())
        self.assertEqual(len({job, lockstep.Job(**RESNET)}), 1)
        self.assertNotIn("ignore", job.replace(ignore_memory=False).command_line())
        self.assertIn("--no-sequence", job.replace(sequence=False).command_line())
        self.assertNotIn("batch", job.replace(global_batch=512).options)
        self.assertEqual(job.read, "")
        with self.assertRaises(AttributeError):
            job.tensr
        with self.assertRaisesRegex(AttributeError, "job.replace.gpu="):
            job.gpu = "A100"
        self.assertEqual(pickle.loads(pickle.dumps(job)), job)

    def test_predictions_are_pickled_as_their_jobs(self):
        prediction = lockstep.predict(**RESNET)
        self.assertEqual(pickle.loads(pickle.dumps(prediction)).rows, prediction.rows)

    def test_several_numbers_of_gpus_and_a_split_have_parts_of_the_largest(self):
        several = lockstep.predict(**{**SPLIT, "gpus": [16, 64]})
        alone = lockstep.predict(**SPLIT)
        self.assertAlmostEqual(several.iteration_s, alone.iteration_s, delta=0.01 * alone.iteration_s)
        self.assertAlmostEqual(sum(several.breakdown.values()), several.iteration_s, delta=0.01 * several.iteration_s)
        self.assertTrue(several.timeline())

    def test_documentation_and_hints_come_from_the_options(self):
        for key, option in options_of("options").items():
            self.assertIn(f"    {key}: ", lockstep.Job.__doc__)
            self.assertIn(option["help"], lockstep.Job.__doc__)
        for name, question in (("_job", "options"), ("_prediction", "options"), ("_answers", "plan_options")):
            hints = (BUILD / f"python/lockstep/{name}.pyi").read_text()
            compile(hints, f"{name}.pyi", "exec")
            for key in options_of(question):
                self.assertIn(f"    {key}: ", hints)

    def test_plan_all_reduce_kernel_names(self):
        plan = lockstep.plan(model="resnet50", gpu=["H100", "A100"], nodes=[1, 2], batch=128, epochs=90, price=["2/h"])
        self.assertEqual(len(plan), 4)
        self.assertIn(plan.recommended, list(plan))
        rows = lockstep.all_reduce(gpu="H100", gpus=[8, 16], bytes="1GB")
        self.assertEqual([row["gpus"] for row in rows], [8, 16])
        self.assertEqual(lockstep.all_reduce(gpu="H100", gpus=[8], bytes=1 << 20)[0]["bytes"], 1 << 20)
        best = lockstep.loss(flops=["5.76e23"])[0]  # Chinchilla's: 70B parameters on 1.4T tokens
        self.assertAlmostEqual(best["parameters"] / 70e9, 1, delta=0.1)
        with self.assertRaises(lockstep.LockstepError):
            lockstep.loss(parameters="8B")
        gemm = lockstep.kernel("gemm", gpu="H100", m=8192, n=14336, k=4096)
        self.assertGreater(gemm["flops"], 400e12)
        with self.assertRaises(lockstep.LockstepError):
            lockstep.kernel("gemm", gpu="H100", m=8192)
        self.assertIn("h100-sxm", [gpu["id"] for gpu in lockstep.names()["gpus"]])

    def test_launch_scripts_and_configurations(self):
        path = SOURCES / "scenarios/launch/megatron_llama3_8b.sh"
        if not path.exists():
            path = sorted((SOURCES / "scenarios/launch").glob("*megatron*.sh"))[0]
        job = lockstep.Job.from_file(path, gpu="H100", gpus=64)
        self.assertEqual(job.gpus, 64)
        self.assertTrue(job.read)
        self.assertEqual(lockstep.Job.from_text(path.read_text(), gpu="H100", gpus=64), job)
        with self.assertRaises(lockstep.LockstepError):
            lockstep.Job.from_text("nothing that starts a training")
        with self.assertRaises(lockstep.LockstepError):
            lockstep.Job.from_text("")
        with self.assertRaises(lockstep.LockstepError):
            lockstep.predict(job.options)
        self.assertEqual(job.replace(gpus=128).read, job.read)
        self.assertIsNone(lockstep.Job.from_file(path, gpu="H100", gpus=64, free_split=True).tensor)
        self.assertNotIn("@", lockstep.Job.from_file(path, gpu="H100", seq_length=4096).model)

    def test_the_given_number_of_gpus_counts_while_a_file_is_read(self):
        path = SOURCES / "scenarios/launch/torchtitan_llama3_8b.toml"
        job = lockstep.Job.from_file(path, gpu="H100", gpus=64)
        self.assertEqual(job.sharding_group, 64)
        self.assertGreater(int(job.tokens), 0)
        self.assertEqual(lockstep.Job.from_text(path.read_text(), gpu="H100", gpus=64), job)

    def test_configuration_objects_of_several_kinds_are_read(self):
        trainer = dict(per_device_train_batch_size=4, bf16=True, model_name_or_path="gpt2", max_length=512)

        class WithDict:
            def to_dict(self):
                return trainer

        class Kind(enum.Enum):
            FULL = "full_shard"

        @dataclasses.dataclass
        class Arguments:
            per_device_train_batch_size: int = 4
            bf16: bool = True
            model_name_or_path: str = "gpt2"
            max_length: int = 512
            fsdp: Kind = Kind.FULL

        class Container:  # as a Megatron-Bridge ConfigContainer, which prints YAML
            def to_yaml(self):
                print("_target_: megatron.bridge.training.config.ConfigContainer\ntrain:\n  micro_batch_size: 1\n"
                      "  global_batch_size: 64\nmixed_precision: bf16_mixed")

        machine = dict(gpu="H100", gpus=8)
        plain = lockstep.Job.from_config(trainer, **machine)
        self.assertEqual(plain.batch or plain.micro_batch, 4)
        self.assertEqual(lockstep.Job.from_config(WithDict(), **machine), plain)
        self.assertEqual(lockstep.Job.from_config(Arguments(), **machine).sharding, "zero3")
        bridge = lockstep.Job.from_config(Container(), model="llama3_8b", **machine)
        self.assertEqual(bridge.software, "Megatron-Bridge")
        with self.assertRaisesRegex(lockstep.LockstepError, "no configuration"):
            lockstep.Job.from_config(3, **machine)

    def test_a_configuration_object_is_a_model(self):
        class Config:  # as transformers.PretrainedConfig
            model_type = "llama"

            def to_dict(self):
                return dict(model_type="llama", hidden_size=4096, num_hidden_layers=32, num_attention_heads=32,
                            num_key_value_heads=8, intermediate_size=14336, vocab_size=128256, max_position_embeddings=8192,
                            architectures=["LlamaForCausalLM"], torch_dtype=object())

        own = lockstep.predict(model=Config(), gpu="H100", gpus=8, global_batch=64)
        named = lockstep.predict(model="llama3_8b", gpu="H100", gpus=8, global_batch=64)
        self.assertAlmostEqual(own.samples_per_s / named.samples_per_s, 1, delta=0.02)

    def test_threads_compute_side_by_side_and_agree(self):
        jobs = [Draws(seed).job().replace(ignore_memory=True) for seed in range(24)]

        def answers(found):
            for job in jobs:
                try:
                    found.append(lockstep.predict(job).to_json())
                except lockstep.LockstepError as error:
                    found.append(str(error))

        all_found = [[] for _ in range(4)]
        threads = [threading.Thread(target=answers, args=(found,)) for found in all_found]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        alone = []
        answers(alone)
        for found in all_found:
            self.assertEqual(found, alone)

    def test_profiles_give_rates(self):
        profile = lockstep.load_profile(SOURCES / "results/host_chain/profile.json")
        rate = profile.rate(32)
        self.assertGreater(rate, 0)
        with self.assertRaises(lockstep.LockstepError):
            profile.rate(33)

    def test_a_module_is_traced_and_measured(self):
        try:
            import torch
        except ImportError:
            self.skipTest("PyTorch is missing")
        torch.manual_seed(1)
        net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(),
                                  torch.nn.Linear(8 * 16 * 16, 10))

        def batch(size):
            return torch.randn(size, 3, 16, 16), torch.randint(10, (size,))

        probe = lockstep.fit_probe(net, batch, torch.nn.functional.cross_entropy, batches=(4, 8), repeats=3)
        self.assertIsNone(probe.job(gpu="H100", gpus=8).rate)  # a processor's rate is no GPU's
        job = probe.job(batch=8, gpu="H100", gpus=[1, 8], rate=probe.rate(8))
        prediction = lockstep.predict(job)
        self.assertAlmostEqual(prediction.rows[0]["samples_per_s"], probe.rate(8), delta=0.01 * probe.rate(8))
        self.assertEqual(sum(layer["parameters"] for layer in prediction.layers()),
                         sum(p.numel() for p in net.parameters()))
        probe.gpu = "NVIDIA A100-SXM4-80GB"  # as if it had been measured on one
        self.assertEqual(probe.job(batch=8, gpu="H100", gpus=8).rate_gpu, probe.gpu)
        own = lockstep.predict(probe.job(batch=8, gpu="A100", gpus=1))
        self.assertAlmostEqual(own.samples_per_s, probe.rate(8), delta=1e-6 * probe.rate(8))
        self.assertNotEqual(lockstep.predict(probe.job(batch=8, gpu="H100", gpus=1)).samples_per_s, own.samples_per_s)

    def test_a_probe_without_torch_raises_the_package_error(self):
        try:
            import torch  # noqa: F401
        except ImportError:
            with self.assertRaisesRegex(lockstep.LockstepError, "torch"):
                lockstep.fit_probe(object(), None, None)

    def test_rows_have_the_batch_and_the_split(self):
        split = lockstep.predict(model="llama3_8b", gpu="H100", gpus=64)
        spec = split.splits[0]["parallel"]
        self.assertEqual(split["split_tensor"], spec.get("tensor", 1))
        self.assertEqual(split["split_data"], spec["data"])
        self.assertEqual(split["split_recompute"], spec.get("recompute", "none"))
        self.assertEqual(split["global_batch"], spec["global_batch"])
        self.assertEqual(split["batch_per_gpu"], spec.get("micro_batch", 1))
        self.assertIs(split["memory_barely_fits"], split.memory["barely_fits"])
        done = []
        rows = lockstep.predict_many([RESNET, dict(model="llama3_8b", gpu="H100", gpus=64), dict(model="resnet50", gpu="H1")],
                                     progress=lambda count, total: done.append((count, total)))
        self.assertEqual(done, [(1, 3), (2, 3), (3, 3)])
        self.assertEqual([row["gpu"] for row in rows], [RESNET["gpu"], "H100", "H1"])
        self.assertEqual(rows[1]["gpu_id"], "h100-sxm")
        self.assertEqual([row.get("software_id") for row in rows], ["pytorch", "megatron", None])
        self.assertEqual(rows[1]["software"], "megatron")  # none was given
        self.assertEqual(lockstep.predict_many([dict(RESNET, software="PyTorch")])[0]["software"], "PyTorch")
        self.assertEqual([row["status"] for row in rows], ["ok", "ok", "refused"])
        self.assertEqual((rows[0]["batch_per_gpu"], rows[0]["global_batch"]), (128, 64 * 128))
        self.assertFalse([key for key in rows[0] if key.startswith("split_")])
        self.assertEqual(rows[1]["split_tensor"], split["split_tensor"])

    def test_a_data_frame_of_predictions(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is missing")
        frame = pandas.DataFrame([lockstep.predict(**RESNET, network=network) for network in ("100 GbE", "8x NDR")])
        self.assertEqual(list(frame["gpus"]), [64, 64])
        self.assertIn("samples_per_s_low", frame.columns)
        by_name = pandas.DataFrame({"one": lockstep.predict(**RESNET), "other": lockstep.predict(**RESNET, network="100 GbE")})
        self.assertEqual(list(by_name.columns), ["one", "other"])
        self.assertEqual(list(by_name.loc["gpus"]), [64, 64])

    def test_a_prediction_is_a_dict_that_names_what_its_efficiency_is_relative_to(self):
        prediction = lockstep.predict(**RESNET)
        self.assertIsInstance(prediction, dict)
        self.assertEqual(prediction["efficiency_over_gpus"], 1)
        self.assertEqual(dict(prediction), prediction.rows[-1])
        split = lockstep.predict(model="llama3_8b", gpu="H100", gpus=[8, 16], global_batch=64)
        self.assertEqual([row["efficiency_over_gpus"] for row in split.rows], [8, 8])
        self.assertEqual(split.rows[0]["efficiency"], 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
