#include "engine/train/command_line.hpp"

#include <algorithm>

#include "engine/base/program.hpp"
#include "engine/base/text.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "engine/train/trained_algorithm.hpp"

namespace lockstep::train {
namespace {

void declare_run(CLI::App& app, Request& r) {
  app.add_option("--model", r.model, "A network of the zoo, or a .json file (lenet)");
  app.add_option(
      "--data", r.data,
      "mnist, fashion-mnist, cifar-10, synthetic, synthetic-imagenet, synthetic-cifar (mnist), or a folder: of "
      "JPEG images (train/CLASS, val/CLASS), CIFAR-10's binary files or IDX files");
  app.add_option("--data-dir", r.data_dir, "Folder that holds the data's folder (build/data)");
  app.add_option("--train-images", r.train_images, "Only the first N training images");
  app.add_option("--test-images", r.test_images, "Only the first N test images");
  app.add_flag("--augment", r.augment,
               "Small random rotations and zooms; CIFAR-10: moved by up to 4 pixels and mirrored; JPEG images: random "
               "resized crops, mirrored");
  app.add_option("--bad-images", r.bad_images,
                 "JPEG images that cannot be decoded: refuse, or skip: the next that can stands in (refuse)");
  app.add_option("--device", r.device, "host or cuda (host)");
  app.add_option("--precision", r.precision, "fp32, tf32, fp16, bf16 (host: fp32; cuda: tf32)");
  app.add_option("--wire", r.wire, "cuda: precision of gradients between GPUs: fp32, fp16, bf16 (fp32)");
  app.add_option("--gpus", r.gpus, "GPUs; on the host, as many logical devices (1)");
  app.add_option("--threads", r.threads, "Threads of the host (one per core)");
  app.add_flag_callback(
      "--no-self-check", [&r] { r.is_self_checked = false; },
      "cuda: uses library engines without comparing them with sums by the definition");
  app.add_option("--seed", r.seed, "Of initial parameters, order of images, dropout, delays (1)")->check(seed_check());
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
  app.add_option("--init", r.init, "Begins with the weights of this safetensors file (drawn by --seed)");
  app.add_option("--weights", r.weights, "Writes the trained weights as safetensors");
  app.add_flag("--quiet", r.quiet, "No progress bar, no remarks");
  app.add_flag("--memory-plan", r.memory_plan, "Shows what the memory plans save, and does not train");
}

std::string algorithms_help() {
  std::string text;
  for (const TrainedAlgorithm* algorithm : all_trained_algorithms())
    text += (text.empty() ? "" : "; ") + name_of(algorithm->algorithm()) + ": " + algorithm->summary();
  return text + " (s-sgd)";
}

std::vector<std::string> readers_of(const std::string& flag) {
  std::vector<std::string> names;
  for (const TrainedAlgorithm* algorithm : all_trained_algorithms())
    if (algorithm->reads(flag)) names.push_back(name_of(algorithm->algorithm()));
  return names;
}

/// Returns the flag's help by algorithm: "sma: this; ea-sgd, local-sgd: that".
std::string help_of(const std::string& flag) {
  std::vector<std::pair<std::string, std::string>> meanings;  // help, names
  for (const TrainedAlgorithm* algorithm : all_trained_algorithms())
    for (const Flag& own : algorithm->flags()) {
      if (own.name != flag) continue;
      const auto same = [&](const auto& meaning) { return meaning.first == own.help; };
      const auto found = std::find_if(meanings.begin(), meanings.end(), same);
      const std::string name = name_of(algorithm->algorithm());
      if (found == meanings.end())
        meanings.emplace_back(own.help, name);
      else
        found->second += ", " + name;
    }
  std::string text;
  for (const auto& [help, names] : meanings) text += (text.empty() ? "" : "; ") + names + ": " + help;
  return text;
}

/// Declares the flag once, though several algorithms may read it. Flags of all runs have been declared.
void declare_flag(CLI::App& app, Request& r, const Flag& flag) {
  if (flag.help.empty() || app.get_option_no_throw(flag.name) != nullptr) return;
  const auto keep = [&r, name = flag.name](const std::string& value) { r.of_algorithm[name] = value; };
  if (flag.is_switch)
    app.add_flag_callback(
        flag.name, [keep] { keep(""); }, help_of(flag.name));
  else
    app.add_option_function<std::string>(flag.name, keep, help_of(flag.name));
}

void declare_algorithm(CLI::App& app, Request& r) {
  app.add_option("--algorithm", r.algorithm, algorithms_help());
  app.add_option("--learners", r.learners, "Learners per GPU (1; ea-sgd, backup-workers: 4)");
  app.add_option("--batch", r.batch, "Images per learner (s-sgd, async-sgd: 32; else 16)");
  app.add_option("--learning-rate", r.learning_rate, "Base rate (0.005; sma, ea-sgd: 0.01; adam, adamw: 0.001)");
  app.add_option("--optimizer", r.optimizer,
                 joined(readers_of("--optimizer")) + ": " + joined(choice_names<sync::UpdateRule>()) + " (momentum)");
  app.add_option("--momentum", r.momentum, "Of the gradient; with sma, of the average model (0.9)");
  app.add_option("--weight-decay", r.weight_decay, "Of weights, not of biases and batch norm (0)");
  app.add_option("--schedule", r.schedule, "constant, steps, linear, cosine (constant)");
  app.add_option("--step-epochs", r.step_epochs, "Epochs after which the rate falls, as 30,60")->delimiter(',');
  app.add_option("--step-factor", r.step_factor, "To this share of itself (0.1)");
  app.add_option("--linear-from", r.linear_from, "linear, cosine: epoch from which it falls to 0 at the last one (0)");
  app.add_option("--warmup-epochs", r.warmup_epochs, "The rate rises from 0 over so many epochs (0)");
  app.add_option("--moving-average", r.moving_average,
                 joined(readers_of("--moving-average")) + ": evaluates a decaying mean, as 0.9999");
  app.add_option("--lars", r.lars, "Layer-wise rates with this coefficient, as 0.001");
  for (const TrainedAlgorithm* algorithm : all_trained_algorithms())
    for (const Flag& flag : algorithm->flags()) declare_flag(app, r, flag);
}

}  // namespace

void declare(CLI::App& app, Request& request) {
  declare_run(app, request);
  declare_algorithm(app, request);
}

CompletionNames completion_names() {
  std::vector<std::string> algorithms;
  for (const TrainedAlgorithm* algorithm : all_trained_algorithms())
    algorithms.push_back(name_of(algorithm->algorithm()));
  return {{"--model", model::trainable_names()},
          {"--data", {"mnist", "fashion-mnist", "cifar-10", "synthetic", "synthetic-imagenet", "synthetic-cifar"}},
          {"--algorithm", algorithms},
          {"--optimizer", choice_names<sync::UpdateRule>()},
          {"--schedule", {"constant", "steps", "linear", "cosine"}},
          {"--device", {"host", "cuda"}},
          {"--precision", {"fp32", "tf32", "fp16", "bf16"}}};
}

Request request_of(const std::vector<std::string>& arguments) {
  CLI::App app;
  Request request;
  declare(app, request);
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // CLI11 expects this order
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    throw InputError(one_line(error.what()));
  }
  return request;
}

}  // namespace lockstep::train
