#include "engine/train/command_line.hpp"

#include <algorithm>

#include "engine/base/text.hpp"

namespace lockstep::train {
namespace {

void declare_run(CLI::App& app, Request& r) {
  app.add_option("--model", r.model, "A network of the zoo, or a .json file (lenet)");
  app.add_option("--data", r.data, "mnist, fashion-mnist, synthetic, synthetic-imagenet, synthetic-cifar (mnist)");
  app.add_option("--data-dir", r.data_dir, "Folder that holds the data's folder (build/data)");
  app.add_option("--train-images", r.train_images, "Only the first N training images");
  app.add_option("--test-images", r.test_images, "Only the first N test images");
  app.add_flag("--augment", r.augment, "Small random rotations and zooms");
  app.add_option("--device", r.device, "host or cuda (host)");
  app.add_option("--precision", r.precision, "fp32, tf32, fp16, bf16 (host: fp32; cuda: tf32)");
  app.add_option("--wire", r.wire, "cuda: precision of gradients between GPUs: fp32, fp16, bf16 (fp32)");
  app.add_option("--gpus", r.gpus, "GPUs; on the host, as many logical devices (1)");
  app.add_option("--threads", r.threads, "Threads of the host (one per core)");
  app.add_flag_callback(
      "--no-self-check", [&r] { r.is_self_checked = false; },
      "cuda: uses library engines without comparing them with sums by the definition");
  app.add_option("--seed", r.seed, "Of initial parameters, order of images, dropout, delays (1)");
  app.add_option("--epochs", r.epochs, "Most epochs (30)");
  app.add_option("--evaluations-per-epoch", r.evaluations_per_epoch, "Of the test images, evenly spaced (1)");
  app.add_option("--target", r.target, "Test accuracy to reach, as 0.99");
  app.add_option("--stop", r.stop, "At the target: target (first evaluation), median (of the last 5), never (target)");
  app.add_option("--max-minutes", r.max_minutes, "Stops after so long");
  app.add_option("--checkpoint", r.checkpoint, "Keeps the state of the run in this file");
  app.add_option("--checkpoint-minutes", r.checkpoint_minutes, "As often, and after each epoch (10)");
  app.add_flag("--resume", r.resume, "Goes on from the checkpoint, if there is one");
  app.add_flag("--overwrite", r.overwrite, "Begins anew where the checkpoint's file is there already");
  app.add_option("-o,--output", r.output, "Writes the record (schema lockstep/run/1)");
  app.add_flag("--quiet", r.quiet, "No progress bar, no remarks");
  app.add_flag("--memory-plan", r.memory_plan, "Shows what the memory plans save, and does not train");
}

void declare_algorithm(CLI::App& app, Request& r) {
  app.add_option("--algorithm", r.algorithm, "s-sgd, sma, ea-sgd, backup-workers, async-sgd (s-sgd)");
  app.add_option("--learners", r.learners, "Learners per GPU (1; ea-sgd, backup-workers: 4)");
  app.add_option("--batch", r.batch, "Images per learner (s-sgd, async-sgd: 32; else 16)");
  app.add_option("--learning-rate", r.learning_rate, "Base rate (0.005; sma, ea-sgd: 0.01)");
  app.add_option("--momentum", r.momentum, "Of the gradient; with sma, of the average model (0.9)");
  app.add_option("--weight-decay", r.weight_decay, "Of weights, not of biases and batch norm (0)");
  app.add_option("--schedule", r.schedule, "constant, steps, linear (constant)");
  app.add_option("--step-epochs", r.step_epochs, "Epochs after which the rate falls, as 30,60")->delimiter(',');
  app.add_option("--step-factor", r.step_factor, "To this share of itself (0.1)");
  app.add_option("--linear-from", r.linear_from, "Epoch from which it falls to 0 at the last one (0)");
  app.add_option("--warmup-epochs", r.warmup_epochs, "The rate rises from 0 over so many epochs (0)");
  app.add_option("--moving-average", r.moving_average,
                 "s-sgd, backup-workers, async-sgd: evaluates a decaying mean, as 0.9999");
  app.add_option("--lars", r.lars, "Layer-wise rates with this coefficient, as 0.001");
  app.add_option("--tau", r.tau, "sma, ea-sgd: iterations per synchronisation; sma: or never (1)");
  app.add_option("--alpha", r.alpha, "sma, ea-sgd: pull to the average (from the number of learners)");
  app.add_option("--averaging", r.averaging, "sma on several GPUs: one or reference (one)");
  app.add_flag("--auto-tune", r.auto_tune, "sma: learners per GPU by the observed throughput");
  app.add_option("--backups", r.backups, "backup-workers: workers more than are waited for (1)");
  app.add_option("--delay", r.delay, "backup-workers: lognormal, gamma, pareto (lognormal)");
  app.add_option("--delay-scale", r.delay_scale_s, "backup-workers: in seconds (1)");
  app.add_option("--delay-shape", r.delay_shape, "backup-workers: shape of the distribution (0.1)");
  app.add_option("--delay-shift", r.delay_shift_s, "backup-workers: seconds added (0)");
  app.add_flag("--interrupt", r.interrupt, "backup-workers: late workers abandon their gradient");
  app.add_option("--staleness", r.staleness, "async-sgd: age of the gradient, in iterations (0)");
  app.add_flag("--staleness-drawn", r.staleness_drawn, "async-sgd: uniform with that mean");
  app.add_option("--staleness-ramp-epochs", r.staleness_ramp_epochs, "async-sgd: grows over so many epochs (0)");
}

}  // namespace

void declare(CLI::App& app, Request& request) {
  declare_run(app, request);
  declare_algorithm(app, request);
}

Request request_of(const std::vector<std::string>& arguments) {
  CLI::App app;
  Request request;
  declare(app, request);
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 takes them
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    throw InputError(one_line(error.what()));
  }
  return request;
}

}  // namespace lockstep::train
