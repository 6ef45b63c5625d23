// Calls of libtorch that do not return: exceptions and ends of threads pass through them. Uses
// libtorch and nothing of ours, like programs.cc.
//
//   unwinds CASE [STEPS]   trains STEPS steps, then does CASE, then trains STEPS steps again
#include <pthread.h>
#include <torch/torch.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

const std::runtime_error kOwn("the program's own");

struct Unwound {
  ~Unwound() { std::puts("unwound"); }
};

void say_what(const std::exception& error) {
  const std::string what = error.what();
  std::printf("caught: %s\n", what.substr(0, what.find('\n')).c_str());
}

void train(int steps) {
  torch::nn::Linear model(8, 8);
  torch::optim::SGD optimizer(model->parameters(), 0.1);
  for (int i = 0; i < steps; ++i) {
    optimizer.zero_grad();
    model(torch::ones({4, 8})).sum().backward();
    optimizer.step();
  }
}

torch::Tensor leaf() { return torch::ones({3}, torch::requires_grad()); }

void backward_twice() {
  const torch::Tensor loss = (leaf() * leaf()).sum();
  loss.backward();
  loss.backward();
}

void hook_throws() {
  const torch::Tensor weight = leaf();
  weight.register_hook([](const torch::Tensor&) { throw kOwn; });
  weight.sum().backward();
}

template <typename Optimizer>
void closure_throws() {
  Optimizer optimizer(std::vector<torch::Tensor>{leaf()});
  optimizer.step([]() -> torch::Tensor {
    const Unwound object;
    throw kOwn;
  });
}

void sgd_closure_throws() {
  torch::optim::SGD optimizer({leaf()}, 0.1);
  optimizer.step([]() -> torch::Tensor { throw kOwn; });
}

// A backward pass within a closure within an optimizer step.
void nested() {
  torch::optim::SGD optimizer({leaf()}, 0.1);
  optimizer.step([]() -> torch::Tensor {
    hook_throws();
    return {};
  });
}

struct NoTraining : torch::nn::Module {
  void train(bool on) override {
    if (!on) throw kOwn;
    torch::nn::Module::train(on);
  }
};

struct Parent : torch::nn::Module {
  Parent() { register_module("child", std::make_shared<NoTraining>()); }
};

// eval() sets the mode of the children first.
void eval_throws() { Parent().eval(); }

void in_thread(const std::function<void()>& work) {
  pthread_t thread{};
  pthread_create(
      &thread, nullptr,
      [](void* function) -> void* {
        const Unwound object;
        (*static_cast<const std::function<void()>*>(function))();
        return nullptr;
      },
      const_cast<std::function<void()>*>(&work));
  void* result = nullptr;
  pthread_join(thread, &result);
  std::printf("the thread's result: %ld\n", reinterpret_cast<long>(result));
}

void thread_ends_in_a_closure() {
  in_thread([] {
    torch::optim::SGD optimizer({leaf()}, 0.1);
    optimizer.step([]() -> torch::Tensor { pthread_exit(reinterpret_cast<void*>(7)); });
  });
}

// It is cancelled at its first cancellation point: not in the backward pass, which has none.
void cancelled_thread() {
  bool has_returned = false;
  in_thread([&] {
    pthread_cancel(pthread_self());
    leaf().sum().backward();
    has_returned = true;
    pthread_testcancel();
  });
  std::printf("the backward pass %s\n", has_returned ? "returned" : "was cut off");
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, void (*)()> cases{{"backward-twice", backward_twice},
                                                {"hook", hook_throws},
                                                {"sgd", sgd_closure_throws},
                                                {"adam", closure_throws<torch::optim::Adam>},
                                                {"lbfgs", closure_throws<torch::optim::LBFGS>},
                                                {"nested", nested},
                                                {"eval", eval_throws},
                                                {"thread-ends", thread_ends_in_a_closure},
                                                {"cancelled", cancelled_thread}};
  const auto found = cases.find(argc > 1 ? argv[1] : "");
  if (found == cases.end()) {
    std::fputs("usage: unwinds CASE [STEPS]; see its source\n", stderr);
    return 2;
  }
  const int steps = argc > 2 ? std::atoi(argv[2]) : 0;
  train(steps);
  for (int i = 0; i < 2; ++i) {
    try {
      found->second();
    } catch (const std::exception& error) {
      say_what(error);
    }
  }
  train(steps);
  std::puts("end");
  return 11;
}
