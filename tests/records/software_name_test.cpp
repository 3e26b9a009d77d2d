// Names of software as people write them.
#include "sim/job/software_name.hpp"

#include "sim/catalogue/catalogue.hpp"
#include "sim/job_prediction/job_prediction.hpp"
#include "tests/catch.hpp"
#include "tests/records/small_job.hpp"

namespace lockstep::tests {
namespace {

std::string id_of_software(const std::string& text) {
  const sim::SoftwareName named = sim::software_named(text, catalogue());
  return named.entry == nullptr ? "" : named.entry->id;
}

}  // namespace

TEST_CASE("software is looked for as written, without joints, with a version's first number, and without") {
  using Spellings = std::vector<std::string>;
  CHECK(sim::software_spellings("NeMo") == Spellings{"NeMo"});
  CHECK(sim::software_spellings("PyTorch v2.5.1") == Spellings{"PyTorch v2.5.1", "PyTorch v2", "PyTorch"});
  CHECK(sim::software_spellings("PyTorch 2.1.0+cu118") == Spellings{"PyTorch 2.1.0+cu118", "PyTorch 2", "PyTorch"});
  CHECK(sim::software_spellings("FSDP + torch.compile") == Spellings{"FSDP + torch.compile", "FSDP torch.compile"});
  CHECK(sim::software_spellings("A,B with C") == Spellings{"A,B with C", "A B C"});
  CHECK(sim::software_spellings("7").front() == "7");
  CHECK(sim::software_spellings(std::string(100000, '9')).size() == 1);
}

TEST_CASE("versions and joints of software's names lead to what is known of it, and nothing else does") {
  for (const auto& [text, id] :
       std::vector<std::pair<std::string, std::string>>{{"PyTorch 2.5.1", "pytorch"},
                                                        {"PyTorch 1.13", "pytorch-1"},
                                                        {"pytorch 2.1 FSDP", "pytorch-fsdp"},
                                                        {"FSDP2", "pytorch-fsdp"},
                                                        {"PyTorch FSDP2, torch.compile", "pytorch-fsdp-compiled"},
                                                        {"FSDP+torch.compile", "pytorch-fsdp-compiled"},
                                                        {"NeMo 24.07", "nemo"},
                                                        {"Megatron-Core v0.9", "megatron"},
                                                        {"Megatron + DeepSpeed", "megatron-deepspeed"},
                                                        {"DeepSpeed 0.14.2", "deepspeed"},
                                                        {"MLPerf v5.0", "mlperf"},
                                                        {"MLPerf v0.7", "mlperf-0.7"},
                                                        {"TensorFlow 2.4", "tensorflow"},
                                                        {"Hugging Face Accelerate", "transformers"},
                                                        {"PaddlePaddle 2.6", "other"},
                                                        {"Caffe 2", "caffe2"},
                                                        {"PyTorchy 2.5", ""},
                                                        {"FSDP, Poseidon", ""},
                                                        {"2.5", ""},
                                                        {"", ""}}) {
    INFO(text);
    CHECK(id_of_software(text) == id);
  }
  CHECK(sim::software_named("PyTorch 2.5.1", catalogue()).lost_version);
  CHECK_FALSE(sim::software_named("FSDP + torch.compile", catalogue()).lost_version);
}

TEST_CASE("that a version is not told apart is said of a job, and its prediction is that of the name") {
  sim::JobQuestion job = small_job();
  job.job.software.stated = "PyTorch";
  const sim::JobPrediction plain = sim::predict_job(job, catalogue(), 1);
  job.job.software.stated = "PyTorch 2.5.1";
  const sim::JobPrediction version = sim::predict_job(job, catalogue(), 1);
  CHECK(version.rows.front().samples_per_s.predicted == plain.rows.front().samples_per_s.predicted);
  const std::vector<Assumption>& all = version.rows.front().samples_per_s.task.assumptions;
  CHECK(std::any_of(all.begin(), all.end(), [](const Assumption& one) {
    return one.source.find("\"PyTorch 2.5.1\" is taken for PyTorch DDP, whatever its version") != std::string::npos;
  }));
}

}  // namespace lockstep::tests
