// Its presence is what tells that a process uses CUDA.
extern "C" __attribute__((visibility("default"))) int cuInit(unsigned) { return 0; }
