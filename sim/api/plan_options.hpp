#pragma once
// The options of `plan job` that define the comparison. The program declares the options for output.
#include <string>
#include <vector>

#include "sim/api/job_options.hpp"
#include "sim/job_plan/job_plan.hpp"

namespace lockstep::sim::api {

class PlanOptionDeclarer {
 public:
  PlanOptionDeclarer(CLI::App& app, JobPlan& words)
      : app_(app),
        words_(words),
        texts_(declare_job(app, words.question, {"gpu", "batch_per_gpu", "global_batch", "network", "algorithm"})) {}

  OptionTexts declare() {
    declare_measured_step(app_, words_.question.step, texts_);
    texts("--gpu", words_.gpus_by_name, job_help("gpu"));
    numbers("--nodes", words_.nodes, "Numbers of nodes", kJobGpus);
    texts_.add(declare_gpu_counts(app_, words_.question, "Numbers of GPUs, instead of nodes"), OptionType::whole_number,
               kJobGpus, true);
    numbers("--batch", words_.batches, "Samples per GPU", {1, 1 << 20});
    texts_.add(list("--global-batch", words_.global_batches, job_help("global_batch"))
                   ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40)),
               OptionType::whole_number, Range{1, static_cast<double>(std::int64_t{1} << 40)}, true);
    texts("--network", words_.networks, network_help());
    texts("--algorithm", words_.algorithms, job_help("algorithm"));
    text("--tokens", words_.tokens, "How much is trained, instead of --epochs, of a model of sequences: 300B");
    text("--samples", words_.samples, "The same by its samples, of any model (images, videos, sequences): 5M");
    text("--flops", words_.flops, "The same by its floating-point operations: 3.8e25");
    texts_.add(app_.add_option("--loss", words_.question.loss,
                               "The same by a loss (nats per token) of training from scratch, by a law of the loss")
                   ->check(number_between(kLosses.low, kLosses.high)),
               OptionType::number, kLosses);
    declare_loss_law(app_, words_.question, words_.critical_batch, texts_);
    text("--model-family", words_.model_family,
         "Compares the sizes of a family instead of one --model: llama3, qwen3, gpt3, ...");
    texts("--price", words_.prices,
          "Of a GPU-hour: 2.5 or \"2.5/h\" (USD), \"2.5 EUR/h\"; GPU=PRICE for each GPU of its own");
    texts(
        "--options", words_.options,
        "Machines that differ in several things at once, NUMBER GPU[ PRICE][ over NETWORK] each, instead of --gpu and "
        "--nodes: \"64 H100 2.2/h, 128 A100 1.3/h\"");
    text("--deadline", words_.deadline, "By when: 3d, \"60 h\"; asks for the least cost");
    text("--budget", words_.budget, "For how much: \"2000 USD\"; asks for the least time");
    flag("--cautious", words_.is_cautious, "Deadline and budget hold at the high bounds, too");
    flag("--failures", words_.has_failures, "Counts interruptions, checkpoints and restarts, by published rates");
    text("--interruptions", words_.interruptions, "The same, with so many for each thousand nodes and days");
    text("--restart", words_.restart, "The same, with so long from an interruption to useful work: 10min");
    text("--checkpoint-every", words_.checkpoint_every, "The same, with checkpoints so far apart (default: best)");
    declare_storage(app_, words_.question, texts_);
    const Range spares{0, kMostGpus};
    texts_.add(app_.add_option("--spares", words_.spares, "The same, with so many nodes that stand by")
                   ->check(CLI::Range(0, kMostGpus)),
               OptionType::whole_number, spares);
    text("--availability", words_.availability,
         "The same, on spot nodes: a file of when they are there (schema lockstep/availability/1)");
    flag("--energy", words_.has_energy, "Counts kWh, by the load of the nodes");
    number("--pue", words_.pue, "The same, with so much energy of the site for that of its nodes (default: 1.2)",
           {1, 5});
    number("--co2", words_.co2_g_per_kwh, "The same, and so many grams of CO2 for each kWh", {1e-3, 5000});
    text("--tariff", words_.tariff, "The same, and energy is paid on top: \"0.12 USD/kWh\"");
    return std::move(texts_);
  }

 private:
  template <class Value>
  CLI::Option* list(const char* name, std::vector<Value>& values, const std::string& help) {
    return app_.add_option(name, values, help)->delimiter(',')->allow_extra_args(false);
  }
  void texts(const char* name, std::vector<std::string>& values, const std::string& help) {
    texts_.add(list(name, values, help), OptionType::text, std::vector<std::string>{}, true);
  }
  void numbers(const char* name, std::vector<int>& values, const std::string& help, Range limits) {
    list(name, values, help)->check(CLI::Range(static_cast<int>(limits.low), static_cast<int>(limits.high)));
    texts_.add(app_.get_option(name), OptionType::whole_number, limits, true);
  }
  void text(const char* name, std::string& value, const std::string& help) {
    texts_.add(app_.add_option(name, value, help), OptionType::text);
  }
  void number(const char* name, double& value, const std::string& help, Range limits) {
    texts_.add(app_.add_option(name, value, help)->check(number_between(limits.low, limits.high)), OptionType::number,
               limits);
  }
  void flag(const char* name, bool& value, const std::string& help) {
    texts_.add(app_.add_flag(name, value, help), OptionType::flag);
  }

  CLI::App& app_;
  JobPlan& words_;
  OptionTexts texts_;
};

inline OptionTexts declare_plan_words(CLI::App& app, JobPlan& words) {
  return PlanOptionDeclarer(app, words).declare();
}

}  // namespace lockstep::sim::api
