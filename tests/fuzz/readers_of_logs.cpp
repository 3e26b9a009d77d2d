// Logs of other tools, up to the profile that `calibrate import` makes of them.
#include <fstream>

#include "calib/import/event_file.hpp"
#include "calib/import/imported.hpp"
#include "calib/import/log_text.hpp"
#include "calib/import/loss_log.hpp"
#include "calib/import/mlperf.hpp"
#include "calib/import/nccl_debug.hpp"
#include "calib/import/step_trace.hpp"
#include "calib/import/training_log.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/fuzz/reader.hpp"

namespace lockstep::fuzz {
namespace {

const std::string& path() {
  static const TemporaryFolder folder;
  static const std::string one = folder.write("input.log", "");
  return one;
}

// Returns the bytes on disk, for bytes that are no text and for logs compressed by gzip.
std::string from_disk(const std::string& content) {
  std::ofstream(path(), std::ios::binary) << content;
  return calib::log_text(path());
}

// Continues as `calibrate import` does: samples of one thing form a series, and every curve is fitted.
Json profile_of(const calib::Imported& log) {
  calib::Profile profile;
  profile.name = "fuzzed";
  profile.device = log.device;
  std::map<std::string, std::size_t> index;
  for (const calib::Sample& sample : log.samples) {
    const auto [entry, is_new] = index.try_emplace(sample.id(), profile.samples.size());
    if (is_new)
      profile.samples.push_back(sample);
    else
      for (double seconds : sample.seconds) profile.samples[entry->second].seconds.push_back(seconds);
  }
  profile.fits = calib::fit_curves(profile.samples);
  const Json written = to_json(profile);
  // The written profile is read again, and shown.
  const JsonDocument document = JsonDocument::parse(written.dump(), path());
  report_text(calib::profile_from_json(document.root()));
  return written;
}

Json mlperf(const std::string& text) {
  const calib::MlperfResults results = calib::import_mlperf({{from_disk(text), path()}}, {"", 0, 8, "", Json()});
  return Json{{"records", results.records}, {"convergence", results.convergence}};
}

Json training_log(const std::string& text) {
  const Json facts{{"model", "llama3-8b"}, {"gpu", "H100"}};
  calib::TrainingLog log = calib::read_training_log(from_disk(text), path(), "", facts);
  if (!log.job.contains("gpus")) log.job["gpus"] = 8;
  return Json::array({calib::training_record(log, "fuzzed")});
}

Json loss_log(const std::string& content) {
  std::ofstream(path(), std::ios::binary) << content;
  const calib::LossLog log = calib::read_loss_log(path(), {1e9, 0, 1e6});
  return Json{{"loss", log.loss}, {"tokens", log.tokens}, {"source", log.loss_source}, {"said", log.said}};
}

// A mutated record has a wrong checksum, which would hide the reader of its message.
std::string with_checksums(std::string bytes) {
  constexpr std::size_t kHead = 12, kChecksum = 4;
  const auto set_checksum = [&](std::size_t at, std::size_t from, std::size_t count) {
    const std::uint32_t crc = calib::crc32c(bytes.substr(from, count));
    const std::uint32_t masked = (crc >> 15 | crc << 17) + 0xa282ead8u;
    for (std::size_t i = 0; i < kChecksum; ++i) bytes[at + i] = static_cast<char>(masked >> (8 * i) & 0xff);
  };
  for (std::size_t at = 0; bytes.size() - at >= kHead;) {
    std::uint64_t length = 0;
    for (std::size_t i = 8; i-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[at + i]);
    set_checksum(at + 8, at, 8);
    at += kHead;
    if (length > bytes.size() - at || bytes.size() - at - length < kChecksum) break;
    set_checksum(at + length, at, length);
    at += length + kChecksum;
  }
  return bytes;
}

Json event_file(const std::string& content) {
  const Json facts{{"model", "llama3-8b"}, {"gpu", "H100"}};
  calib::TrainingLog log = calib::read_event_log(with_checksums(content), path(), "", facts);
  if (!log.job.contains("gpus")) log.job["gpus"] = 8;
  if (!log.job.contains("global_batch")) log.job["global_batch"] = 8;
  return Json::array({calib::training_record(log, "fuzzed")});
}

Json step_trace(const std::string& text) {
  Json steps = Json::array();
  for (const calib::TracedStep& step : calib::read_step_trace(from_disk(text), path()).steps)
    steps.push_back({{"seconds", step.seconds}, {"parts", step.parts}});
  return steps;
}

Json nccl_debug(const std::string& text) {
  const std::string log = from_disk(text);
  const calib::NcclFacts facts = calib::read_nccl_debug(log);
  return Json{{"has_lines", calib::has_nccl_lines(log)},
              {"is_alone", calib::is_nccl_debug_file(log)},
              {"messages", facts.messages},
              {"text", calib::nccl_facts_text(facts)}};
}

std::string data(const std::string& name) {
  return "tests/calib/data/" + name;
}
std::string own(const std::string& name) {
  return "tests/fuzz/corpus/" + name;
}

}  // namespace

std::vector<Reader> readers_of_logs() {
  using namespace calib;
  const auto log = [](const std::string& name, const std::function<Imported(const std::string&)>& import,
                      const std::vector<std::string>& corpus) {
    return Reader{name, [import](const std::string& text) { return profile_of(import(from_disk(text))); }, path(),
                  corpus};
  };
  const CollectiveLogOptions ranks{4, 1, ""};
  return {
      log("nccl-tests",
          [](const std::string& text) {
            return import_nccl_tests(text, path(), {"all-reduce", 0, 0});
          },
          {data("nccl_tests_all_reduce.txt"), data("nccl_tests_rows_of_12.txt"), data("azure_h100_8.txt")}),
      log("nccl-tests-all-gather",
          [](const std::string& text) {
            return import_nccl_tests(text, path(), {"all-gather", 0, 0});
          },
          {data("nccl_tests_rows_of_11.txt")}),
      log("nccl-tests-alone", [](const std::string& text) { return import_nccl_tests(text, path()); },
          {data("nccl_tests_all_reduce.json"), data("nccl_tests_all_gather_statistics.txt"),
           data("nccl_tests_all_gather_timestamps.txt")}),
      log("nvbandwidth", [](const std::string& text) { return import_nvbandwidth(text, path()); },
          {data("nvbandwidth_copies.txt"), data("nvbandwidth_copies.json"), data("nvbandwidth_others.json"),
           data("nvbandwidth_others_srun.txt")}),
      log("p2p", [](const std::string& text) { return import_p2p_bandwidth(text, path()); }, {own("p2p.txt")}),
      log("perftest", [](const std::string& text) { return import_perftest(text, path()); },
          {data("perftest_write_bw.txt"), data("perftest_write_lat.txt"), own("perftest.json")}),
      Reader{"chakra",
             [=](const std::string& bytes) { return profile_of(import_chakra(bytes, path(), {})); },
             path(),
             {own("chakra.et")}},
      log("topology", [](const std::string& text) { return import_topology(text, path()); },
          {data("nvidia_smi_topo.txt")}),
      // As in a file, with gzip's bytes.
      log("gz",
          [](const std::string& text) {
            return import_nccl_tests(text, path(), {"all-reduce", 0, 0});
          },
          {own("nccl_tests.txt.gz")}),
      log("osu", [=](const std::string& text) { return import_osu(text, path(), ranks); }, {own("osu.txt")}),
      log("imb", [](const std::string& text) { return import_imb(text, path()); }, {own("imb.txt")}),
      log("gloo", [](const std::string& text) { return import_gloo(text, path()); }, {own("gloo.txt")}),
      log("csv",
          [](const std::string& text) {
            return import_csv(text, path(), {"resnet50", ""});
          },
          {own("steps.csv"), own("collectives.csv")}),
      log("torch-trace",
          [](const std::string& text) {
            return import_torch_trace(text, path(), {"cnn", 8, "fp32"});
          },
          {data("torch_trace.json")}),
      log("torch-probe", [](const std::string& text) { return import_torch_probe(text, path()); },
          {own("torch_probe.jsonl")}),
      Reader{"step-trace", step_trace, path(), {data("torch_trace.json")}},
      Reader{"nccl-debug", nccl_debug, path(), {own("nccl_debug.log")}},
      Reader{"mlperf", mlperf, path(), {own("mlperf.txt")}},
      Reader{"loss-log",
             loss_log,
             path(),
             {own("events.out.tfevents"), own("training_llmc.log"), own("training_megatron.log"),
              own("training_torchtitan.log")}},
      Reader{"event-file", event_file, path(), {own("events.out.tfevents")}},
      Reader{"training-log",
             training_log,
             path(),
             {own("training_megatron.log"), own("training_torchtitan.log"), own("training_llmc.log"),
              own("training_huggingface.log")}},
  };
}

}  // namespace lockstep::fuzz
