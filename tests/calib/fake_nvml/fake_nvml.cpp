// A library that answers as NVML does on a machine of three GPUs: GPU 0 and 1 have 2 NVLinks each to a switch, GPU 2
// has none. FAKE_NVML_REASONS: bits of why clocks are low; FAKE_NVML_INIT: what nvmlInit returns. Written from NVML's
// documentation, apart from engine/nvml, so that a mistake there is not made here as well.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

struct nvmlPciInfo {
  char busIdLegacy[16];
  unsigned int domain;
  unsigned int bus;
  unsigned int device;
  unsigned int pciDeviceId;
  unsigned int pciSubSystemId;
  char busId[32];
};

constexpr int kSuccess = 0, kInvalidArgument = 2, kNotSupported = 3, kNotFound = 6, kInsufficientSize = 7;
constexpr unsigned kBuses[] = {0x1b, 0x43, 0xc1};
int gpus[3] = {0, 1, 2};
int part_of_gpu_1 = -1;  // a MIG instance

int number_of(void* device) {
  return *static_cast<int*>(device);
}

int copy(const char* text, char* to, unsigned length) {
  if (std::strlen(text) + 1 > length) return kInsufficientSize;
  std::strcpy(to, text);
  return kSuccess;
}

unsigned long long environment(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 0);
}

void fill(unsigned bus, nvmlPciInfo* pci) {
  std::snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "0000:%02X:00.0", bus);
  std::snprintf(pci->busId, sizeof pci->busId, "00000000:%02X:00.0", bus);
  pci->domain = 0;
  pci->bus = bus;
  pci->device = 0;
  pci->pciDeviceId = 0x233010de;
  pci->pciSubSystemId = 0;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  return static_cast<int>(environment("FAKE_NVML_INIT"));
}
int nvmlShutdown() {
  return kSuccess;
}
const char* nvmlErrorString(int result) {
  return result == 9 ? "Driver Not Loaded" : "Unknown Error";
}
int nvmlSystemGetDriverVersion(char* version, unsigned length) {
  return copy("570.86.15", version, length);
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 3;
  return kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index >= 3) return kInvalidArgument;
  *device = &gpus[index];
  return kSuccess;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  if (std::strcmp(uuid, "MIG-part") == 0) {
    *device = &part_of_gpu_1;
    return kSuccess;
  }
  for (int& gpu : gpus) {
    if (std::strcmp(uuid, ("GPU-" + std::to_string(gpu)).c_str()) != 0) continue;
    *device = &gpu;
    return kSuccess;
  }
  return kNotFound;
}
// GPU 1 has a part, and only NVML's own name finds it.
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void* part, void** device) {
  if (part != &part_of_gpu_1) return kInvalidArgument;
  *device = &gpus[1];
  return kSuccess;
}
int nvmlDeviceGetName(void*, char* name, unsigned length) {
  return copy("Planted H100", name, length);
}
int nvmlDeviceGetUUID(void* device, char* uuid, unsigned length) {
  return copy(("GPU-" + std::to_string(number_of(device))).c_str(), uuid, length);
}
int nvmlDeviceGetPciInfo_v3(void* device, nvmlPciInfo* pci) {
  fill(kBuses[number_of(device)], pci);
  return kSuccess;
}
int nvmlDeviceGetCurrPcieLinkGeneration(void*, unsigned* generation) {
  *generation = 1;  // idle
  return kSuccess;
}
int nvmlDeviceGetMaxPcieLinkGeneration(void*, unsigned* generation) {
  *generation = 5;
  return kSuccess;
}
int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned* width) {
  *width = 16;
  return kSuccess;
}
// GPU 1 runs at 990 MHz of 1980.
int nvmlDeviceGetClockInfo(void* device, unsigned type, unsigned* mhz) {
  if (type != 1 && type != 2) return kNotSupported;
  *mhz = type == 2 ? 2619 : number_of(device) == 1 ? 990 : 1980;
  return kSuccess;
}
int nvmlDeviceGetMaxClockInfo(void*, unsigned type, unsigned* mhz) {
  *mhz = type == 2 ? 2619 : 1980;
  return kSuccess;
}
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) {
  *milliwatts = 700000;
  return kSuccess;
}
// Under the name that it had before driver 535.
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = environment("FAKE_NVML_REASONS");
  return kSuccess;
}
int nvmlDeviceGetNvLinkState(void* device, unsigned link, int* is_active) {
  if (number_of(device) == 2) return kNotSupported;
  if (link >= 18) return kInvalidArgument;
  *is_active = link < 2 ? 1 : 0;
  return kSuccess;
}
int nvmlDeviceGetNvLinkVersion(void*, unsigned, unsigned* version) {
  *version = 6;
  return kSuccess;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(void*, unsigned, int* type) {
  *type = 2;
  return kSuccess;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void*, unsigned link, nvmlPciInfo* pci) {
  fill(0x90 + link, pci);
  return kSuccess;
}
int nvmlDeviceGetTopologyCommonAncestor(void* a, void* b, int* level) {
  *level = number_of(a) < 2 && number_of(b) < 2 ? 40 : 50;
  return kSuccess;
}
int nvmlDeviceGetP2PStatus(void* a, void* b, unsigned index, int* status) {
  if (index != 0) return kInvalidArgument;
  *status = number_of(a) < 2 && number_of(b) < 2 ? 0 : 4;
  return kSuccess;
}

}  // extern "C"
