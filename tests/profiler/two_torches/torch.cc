// Stands in for a libtorch, one of two in a process.
#define STEPSCOPE_EXPORTED extern "C" __attribute__((visibility("default")))

// torch::optim::Optimizer::zero_grad(bool)
STEPSCOPE_EXPORTED void zero_grad(int* self, bool) __asm__("_ZN5torch5optim9Optimizer9zero_gradEb");
STEPSCOPE_EXPORTED void zero_grad(int* self, bool) { *self = STEPSCOPE_TORCH_NUMBER; }
