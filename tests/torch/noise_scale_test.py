"""The probe's gradient noise scale (--noise-scale). Needs torch; run.sh skips it where that is missing."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PROBE = os.path.join(os.path.dirname(os.path.dirname(HERE)), "calib", "torch", "lockstep_probe.py")
NETS = os.path.join(HERE, "nets.py")
sys.path[:0] = [os.path.dirname(PROBE), HERE]

import torch
from torch import nn

import lockstep_probe
import nets

torch.set_num_threads(1)


def run(*words, timeout=900):
    return subprocess.run([sys.executable, PROBE, *map(str, words)], capture_output=True, text=True, timeout=timeout)


def entries(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


class NoiseScale(unittest.TestCase):
    """The gradient noise scale. The loss of `linear` is w . x, so that a sample's gradient is the sample itself."""

    @staticmethod
    def linear(mean, deviation, width=20, seed=3):
        model = nn.Linear(width, 1, bias=False)
        generator = torch.Generator().manual_seed(seed)
        batch = lambda size: (mean + deviation * torch.randn(size, width, generator=generator), torch.zeros(size))
        return model, batch, lambda out, targets: out.mean(), torch.optim.SGD(model.parameters(), 0.1)

    def measured(self, built, micro_batches=8, size=4):
        return lockstep_probe.measure_noise_scale(lockstep_probe.Job(built), micro_batches, size)

    def test_a_known_gradient_and_covariance_are_found_within_the_interval(self):
        inside = 0
        for seed in range(40):  # S / |G|^2 = 4 / 0.25, a coordinate
            noise = self.measured(self.linear(0.5, 2, seed=seed))
            inside += noise["low"] <= 16 <= noise["high"]
        self.assertGreaterEqual(inside, 25)  # 80 % of 40, less 2.8 standard deviations
        noise = self.measured(self.linear(0.5, 2), micro_batches=64)
        self.assertAlmostEqual(noise["critical_batch"], 16, delta=3)
        self.assertAlmostEqual(noise["gradient_square"], 20 * 0.25, delta=1)

    def test_a_multiple_of_the_loss_leaves_it_as_it_is(self):
        model, batch, loss, optimizer = self.linear(0.5, 2)
        one = self.measured((model, batch, loss, optimizer))
        model, batch, loss, optimizer = self.linear(0.5, 2)
        scaled = self.measured((model, batch, lambda out, targets: 8 * loss(out, targets), optimizer))
        for name in ("critical_batch", "low", "high"):
            self.assertAlmostEqual(scaled[name], one[name], delta=1e-4 * one[name])

    def test_by_hand(self):
        # As in tests/sync/noise_scale_test.cpp: |g|^2 9 and 5 over 4 samples each, |mean|^2 5.
        noise = lockstep_probe.noise_scale([(7, 5)], 4, 2)
        self.assertAlmostEqual(noise["gradient_square"], 3)
        self.assertAlmostEqual(noise["covariance_trace"], 16)
        self.assertAlmostEqual(noise["critical_batch"], 16 / 3)
        self.assertIsNone(noise["high"])
        self.assertEqual(lockstep_probe.noise_scale([(2, 2)] * 4, 4, 2)["critical_batch"], 0)
        self.assertIsNone(lockstep_probe.noise_scale([(2, 0.5), (2, 1.6)] * 4, 4, 2)["high"])

    def test_equal_micro_batches_are_refused_with_what_to_do(self):
        model, batch, loss, optimizer = self.linear(0.5, 2)
        fixed = batch(4)
        with self.assertRaisesRegex(lockstep_probe.ProbeError, "same gradient; allowed: a batch"):
            self.measured((model, lambda size: fixed, loss, optimizer))

    def test_weights_and_buffers_stay_and_a_loader_is_used(self):
        torch.manual_seed(1)
        model, batch, loss, optimizer = nets.build()
        before = {name: value.clone() for name, value in model.state_dict().items()}
        loader = lambda size: [batch(size) for _ in range(3)]
        noise = self.measured((model, None, loss, optimizer, loader), micro_batches=2)
        self.assertGreater(noise["covariance_trace"], 0)
        for name, value in model.state_dict().items():
            self.assertTrue(torch.equal(value, before[name]), name)
        self.assertTrue(all(p.grad is None for p in model.parameters()))

    def test_sequences_of_tokens_have_their_length(self):
        noise = self.measured(nets.gpt(), micro_batches=2, size=2)
        self.assertEqual(noise["tokens_per_sample"], 64)
        self.assertIn("tokens", lockstep_probe.noise_text(noise))

    def test_one_micro_batch_is_refused(self):
        with self.assertRaisesRegex(lockstep_probe.ProbeError, "--noise-scale 1: .*allowed: 2 or more"):
            lockstep_probe.parsed(["f.py:build", "--noise-scale", "1"])

    def test_the_line_in_the_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "p.jsonl")
            done = run(f"{NETS}:gpt", "--batches", "2", "--noise-scale", 2, "--seconds", 0.01, "--least", 1, "--passes", 1,
                       "--most-bytes", 4096, "-o", path)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("gradient noise scale: ", done.stderr)
            lines = [e["noise_scale"] for e in entries(path) if "noise_scale" in e]
            self.assertEqual(len(lines), 1)
            self.assertEqual((lines[0]["micro_batch"], lines[0]["micro_batches"]), (2, 2))


if __name__ == "__main__":
    unittest.main()
