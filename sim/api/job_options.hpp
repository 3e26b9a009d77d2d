#pragma once
// Options that describe a job, common to `simulate job` and `plan job`: those of job_fields.hpp.
#include <CLI/CLI.hpp>
#include <optional>
#include <set>
#include <string>
#include <type_traits>

#include "engine/base/program.hpp"
#include "sim/api/option_text.hpp"
#include "sim/catalogue/name_index.hpp"
#include "sim/catalogue/network_grammar.hpp"
#include "sim/failures/failure_spec.hpp"
#include "sim/job/job_fields.hpp"
#include "sim/job_prediction/job_price.hpp"
#include "sim/job_prediction/job_question.hpp"

namespace lockstep::sim::api {

inline const Range kRates{1e-6, 1e12}, kPrices{1e-6, 1e6}, kJobGpus{1, kMostGpus}, kLosses{0.1, 20},
    kStepTimes{1e-6, 1e6}, kStepBatches{1, 1 << 30};

inline std::string network_help() {
  return std::string("Between nodes, ") + kNetworkGrammar +
         ", such as \"8x 400 Gb/s InfiniBand\", \"8x NDR\" or \"25 GbE\" (see --list)";
}

/// Returns the help of a fact with this key.
inline std::string job_help(const std::string& key) {
  if (key == "network") return network_help();
  std::string help;
  const auto find = [&](const FieldName& name, const auto&, const auto&, Range = {}) {
    if (key == name.key) help = name.help;
  };
  const Job job;
  visit_job_fields(find, job, job);
  return help;
}

/// Declares the options of a job's facts. It skips those in `lists`, which the program declares itself with several
/// values. `texts` describes each option.
class JobOptionDeclarer {
 public:
  JobOptionDeclarer(CLI::App& app, Job& job, std::set<std::string> lists, OptionTexts& texts)
      : app_(app), job_(job), lists_(std::move(lists)), texts_(texts) {}

  template <class Field>
  void operator()(const FieldName& name, Field& field, Field&, Range limits = {}) {
    if (name.option != nullptr && lists_.count(name.key) == 0) declare(name, field, limits);
  }

 private:
  void declare(const FieldName& name, NamedFact& field, Range) {
    texts_.add(app_.add_option(name.option, field.stated, name.help), OptionType::text);
  }
  void declare(const FieldName& name, NetworkStated& field, Range) {
    texts_.add(app_.add_option(name.option, field.stated, network_help()), OptionType::text);
  }
  void declare(const FieldName& name, std::optional<Algorithm>&, Range) {
    texts_.add(app_.add_option(name.option, job_.exchange, name.help), OptionType::text);
  }
  /// The only text with an option is the task of fine-tuning.
  void declare(const FieldName& name, std::string& field, Range) {
    const std::vector<std::string> tasks{kAdapters, kAllWeights};
    texts_.add(app_.add_option(name.option, field, name.help)->check(CLI::IsMember(tasks)), OptionType::text, tasks);
  }
  void declare(const FieldName& name, bool& field, Range) {
    texts_.add(app_.add_flag(name.option, field, name.help), OptionType::flag);
  }
  void declare(const FieldName& name, std::optional<bool>& field, Range) {
    const std::string option = name.option;
    CLI::Option* const flag = app_.add_flag_function(
        option + ",!--no-" + option.substr(2), [&field](std::int64_t count) { field = count > 0; }, name.help);
    texts_.add(flag->multi_option_policy(CLI::MultiOptionPolicy::TakeLast), OptionType::flag);
  }
  void declare(const FieldName& name, double& field, Range limits) {
    texts_.add(app_.add_option(name.option, field, name.help)->check(number_between(limits.low, limits.high)),
               OptionType::number, limits);
  }
  template <class I>
  std::enable_if_t<std::is_integral_v<I>> declare(const FieldName& name, I& field, Range limits) {
    const Range whole{std::max(1.0, limits.low), limits.high};
    texts_.add(app_.add_option(name.option, field, name.help)
                   ->check(CLI::Range(static_cast<std::int64_t>(whole.low), static_cast<std::int64_t>(whole.high))),
               OptionType::whole_number, whole);
  }
  template <class E>
  std::enable_if_t<std::is_enum_v<E>> declare(const FieldName& name, std::optional<E>& field, Range) {
    std::vector<std::string> names;
    for (const Choice<E>& choice : choices_of(E())) {
      names.push_back(choice.name);
      names.insert(names.end(), choice.aliases.begin(), choice.aliases.end());
    }
    CLI::Option* const option = app_.add_option_function<std::string>(
        name.option, [&field](const std::string& text) { field = find_choice_in_words<E>(text); }, name.help);
    texts_.add(option->check(CLI::IsMember(names, CLI::ignore_case)), OptionType::text, names);
  }
  template <class Field>
  std::enable_if_t<!std::is_integral_v<Field>> declare(const FieldName& name, Field&, Range) {
    throw std::logic_error(std::string("no option of this kind: ") + name.option);
  }

  CLI::App& app_;
  Job& job_;
  std::set<std::string> lists_;
  OptionTexts& texts_;
};

inline constexpr const char *kSequenceParallel = "--sequence-parallel", *kSequence = "--sequence";

/// Declares --sequence N: tokens of a sequence, like --seq-length. Without a number, it is the old name of
/// --sequence-parallel.
inline void declare_sequence(CLI::App& app, Job& job, OptionTexts& texts) {
  const Range lengths{1, 1 << 24};
  const auto give = [&job, lengths](const std::string& text) {
    if (text.empty() || text == "true" || text == "false") {
      job.split.give("sequence", Json(text != "false"), kSequence);
      return;
    }
    int length = 0;
    if (!CLI::detail::lexical_cast(text, length) || length < lengths.low || length > lengths.high)
      throw CLI::ValidationError(kSequence, text + " is no length; allowed: tokens of a sequence, 1 to 16777216");
    if (job.shape.sequence > 0 && job.shape.sequence != length)
      throw CLI::ValidationError(
          kSequence, text + ": --seq-length gives " + std::to_string(job.shape.sequence) + "; allowed: one of the two");
    job.shape.sequence = length;
  };
  texts.add_number_or_flag(
      app.add_option_function<std::string>(
             kSequence, give, "The same as --seq-length; without a number, the same as --sequence-parallel")
          ->expected(0, 1),
      lengths);
}

/// Declares the option of a key of "parallel". It takes the values of a scenario.
inline void declare_split_field(CLI::App& app, GivenSplit& split, const SplitFieldName& name, const FieldText& field,
                                OptionTexts& texts) {
  const auto give = [&split, key = field.key, option = name.option](const Json& value) {
    split.give(key, value, option);
  };
  // If a value may carry its origin in a scenario, the command line takes the value alone.
  const Json& schema = field.schema.contains("anyOf") ? field.schema.at("anyOf").at(0) : field.schema;
  const std::string type = schema.value("type", "");
  if (type == "boolean") {
    const std::string earlier = name.option == kSequenceParallel ? std::string(",!--no-") + (kSequence + 2) : "";
    texts.add(app.add_flag_function(
                  name.option + ",!--no-" + name.option.substr(2) + earlier,
                  [give](std::int64_t count) { give(count > 0); }, name.help),
              OptionType::flag);
  } else if (type == "integer") {
    const std::int64_t least = schema.at("minimum"), most = schema.at("maximum");
    texts.add(app.add_option_function<std::int64_t>(
                     name.option, [give](const std::int64_t& value) { give(value); }, name.help)
                  ->check(CLI::Range(least, most)),
              OptionType::whole_number, Range{static_cast<double>(least), static_cast<double>(most)});
  } else if (type == "number") {
    const Range limits{schema.at("minimum"), schema.at("maximum")};
    texts.add(app.add_option_function<double>(
                     name.option, [give](const double& value) { give(value); }, name.help)
                  ->check(number_between(limits.low, limits.high)),
              OptionType::number, limits);
  } else if (type == "array") {
    const std::vector<std::string> choices = schema.at("items").at("enum");
    texts.add(
        app.add_option_function<std::vector<std::string>>(
               name.option, [give](const std::vector<std::string>& values) { give(values); }, name.help)
            ->delimiter(',')
            ->expected(schema.at("minItems").get<int>(), schema.value("maxItems", static_cast<int>(choices.size())))
            ->allow_extra_args(false)
            ->check(CLI::IsMember(choices)),
        OptionType::text, choices, true);
  } else {
    const std::vector<std::string> choices = schema.at("enum");
    texts.add(app.add_option_function<std::string>(
                     name.option, [give](const std::string& value) { give(value); }, name.help)
                  ->check(CLI::IsMember(choices, CLI::ignore_case)),
              OptionType::text, choices);
  }
  if (!name.says_what_trains) texts.mark_as_split();
}

/// Declares and describes all options of a job except its numbers of GPUs. `lists` are keys that the program declares
/// itself.
inline OptionTexts declare_job(CLI::App& app, JobQuestion& question, const std::set<std::string>& lists = {}) {
  OptionTexts texts;
  JobOptionDeclarer declarer(app, question.job, lists, texts);
  visit_job_fields(declarer, question.job, question.job);
  texts.add(app.add_option("--rate", question.rate_samples_per_s, "Samples/s that were measured on one GPU at --batch")
                ->check(number_between(kRates.low, kRates.high)),
            OptionType::number, kRates);
  texts.add(
      app.add_option("--rate-gpu", question.rate_gpu,
                     "The GPU that --rate was measured on, if another: the rate is scaled by the laws of both GPUs"),
      OptionType::text);
  const std::vector<const FieldText*> fields = parallel_format().texts();
  const std::vector<SplitFieldName>& names = split_fields();
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!names[i].option.empty()) declare_split_field(app, question.job.split, names[i], *fields[i], texts);
  declare_sequence(app, question.job, texts);
  texts.add(app.add_option_function<std::string>(
                   "--optimise",
                   [&question](const std::string&) { question.job.split.is_searched = question.lists_splits = true; },
                   "split: what is not stated of it is the fastest that fits, at each number of GPUs")
                ->check(CLI::IsMember({"split"})),
            OptionType::text, {"split"});
  texts.add(
      app.add_flag("--ignore-memory", question.ignores_memory,
                   "Predicts what does not fit into a GPU's memory, too. If no split fits, the one nearest to fitting"),
      OptionType::flag);
  return texts;
}

/// Declares a measured iteration, for `simulate job` and `plan job`.
inline void declare_measured_step(CLI::App& app, GivenStep& step, OptionTexts& texts) {
  texts.add(
      app.add_option("--step-time", step.seconds,
                     "Measured seconds of an iteration of this job, with or without a split: all layers are scaled "
                     "so that the prediction agrees, on other numbers of GPUs, networks and GPUs, too")
          ->check(number_between(kStepTimes.low, kStepTimes.high)),
      OptionType::number, kStepTimes);
  texts.add(app.add_option("--step-gpus", step.gpus,
                           "Number of GPUs that --step-time was measured on (default: the smallest of --gpus)")
                ->check(CLI::Range(static_cast<int>(kJobGpus.low), static_cast<int>(kJobGpus.high))),
            OptionType::whole_number, kJobGpus);
  texts.add(app.add_option("--step-batch", step.global_batch,
                           "Global batch of --step-time (default: the job's; on another number of GPUs than those of "
                           "--gpus as many samples per GPU)")
                ->check(CLI::Range(std::int64_t{1}, static_cast<std::int64_t>(kStepBatches.high))),
            OptionType::whole_number, kStepBatches);
  texts.add(app.add_option("--step-gpu", step.gpu, "The GPU that --step-time was measured on, if another"),
            OptionType::text);
  texts.add(
      app.add_option("--step-network", step.network,
                     "The network that --step-time was measured on, as --network has it (default: the job's; with "
                     "--step-gpu the default of that GPU)"),
      OptionType::text);
}

/// Adds the option for checkpoint storage, for `simulate job` and `plan job`.
inline void declare_storage(CLI::App& app, JobQuestion& question, OptionTexts& texts) {
  const auto check = [](const std::string& text) {
    try {
      (void)parse_storage_bandwidth("", text);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  texts.add(
      app.add_option("--storage", question.storage,
                     "Bandwidth of the storage that checkpoints are written to and read from: \"200 GB/s\" for all "
                     "nodes, or \"5 GB/s per node\" (default: 2 GB/s per node)")
          ->check(CLI::Validator(check, "BANDWIDTH")),
      OptionType::text);
}

/// Adds the options of the law for tokens and loss, for `simulate job`, `plan job` and `simulate loss`.
inline void declare_loss_law(CLI::App& app, JobQuestion& question, std::string& critical_batch, OptionTexts& texts) {
  texts.add(
      app.add_option("--loss-law", question.loss_law,
                     "Law of the loss: chinchilla (default), another of simulate job --list, or a file of simulate "
                     "loss --fit"),
      OptionType::text);
  texts.add(app.add_option(
                "--critical-batch", critical_batch,
                "Critical batch in tokens instead of the law's: a number, or a file with a measured gradient noise "
                "scale (a log of lockstep_probe.py --noise-scale, or a profile made of it)"),
            OptionType::text);
}

/// Checks a price, as a number, "2.5/h" or "$2.5/h", in USD per GPU-hour. The option gets the number.
inline CLI::Validator price_check() {
  return CLI::Validator([](std::string& text) { return to_usd_per_hour(text, kPrices.low, kPrices.high); }, "PRICE");
}

/// Declares the numbers of GPUs.
inline CLI::Option* declare_gpu_counts(CLI::App& app, JobQuestion& question, const char* help) {
  return app.add_option("--gpus", question.gpus, help)
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(static_cast<int>(kJobGpus.low), static_cast<int>(kJobGpus.high)));
}

}  // namespace lockstep::sim::api
