// Children of a simulation end by _exit(), which does not write their coverage counters. With LOCKSTEP_COVERAGE the
// linker redirects every such call to here (--wrap=_exit). Counters of killed processes are still lost.
extern "C" {
#ifdef __clang__
int __llvm_profile_write_file(void);
#else
void __gcov_dump();
#endif
[[noreturn]] void __real__exit(int code);

[[noreturn]] void __wrap__exit(int code) {
#ifdef __clang__
  __llvm_profile_write_file();
#else
  __gcov_dump();
#endif
  __real__exit(code);
}
}
