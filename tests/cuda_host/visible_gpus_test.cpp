// Output of the programs without a GPU; with one, that its properties can be read.
#include <stdexcept>

#include "engine/cuda/cuda_backend.hpp"
#include "engine/cuda/device_facts.hpp"
#include "tests/catch.hpp"

namespace lockstep::cuda {

TEST_CASE("Without a usable GPU the backend says why in one line, and so do more GPUs than there are") {
  std::string why = "not asked";
  const int visible = visible_gpus(why);
  REQUIRE(visible >= 0);
  INFO("visible: " << visible << ", " << why);
  if (visible == 0) {
    CHECK_FALSE(why.empty());
    CHECK(why.find('\n') == std::string::npos);
    CHECK_THROWS_WITH(make_cuda_backend(1), "CUDA: no usable GPU: " + why);
  } else {
    try {
      make_cuda_backend(visible + 1);
      FAIL("one GPU more than there are");
    } catch (const std::runtime_error& error) {
      CHECK(std::string(error.what()).find(std::to_string(visible + 1) + " GPUs asked for") != std::string::npos);
    }
    CHECK(device_facts(0).multiprocessors > 0);
  }
  CHECK_THROWS_AS(make_cuda_backend(0), std::invalid_argument);
}

TEST_CASE("The libraries tell their versions without a driver") {
  CHECK(runtime_version().find('.') != std::string::npos);
  CHECK(cudnn_version().substr(0, 2) == "9.");
  CHECK(nccl_version().substr(0, 2) == "2.");
}

TEST_CASE("Processes of one machine share its GPUs out, or take those that the launcher gave each") {
  using Gpus = std::vector<int>;
  CHECK(gpus_of_process(1, 8, 3, 8) == Gpus{3});
  CHECK(gpus_of_process(2, 8, 1, 4) == Gpus{2, 3});
  CHECK(gpus_of_process(2, 8, 1, 2) == Gpus{2, 3});
  CHECK(gpus_of_process(4, 8, 0, 1) == Gpus{0, 1, 2, 3});
  CHECK(gpus_of_process(1, 1, 5, 8) == Gpus{0});  // each process sees only its own GPU
  CHECK_THROWS_WITH(gpus_of_process(1, 2, 0, 4), "CUDA: 4 processes with 1 GPUs each on this machine, 2 usable");
  CHECK_THROWS_AS(gpus_of_process(2, 1, 0, 1), std::runtime_error);
}

}  // namespace lockstep::cuda
