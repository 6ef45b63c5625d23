// What the name of a wait says about a PyTorch loader: "DataLoader(batch_size=8, num_workers=2)",
// or "Trainer: DataLoader(batch_size=8)" for Hugging Face's (profiler/python/stepscope/_torch.py).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stepscope {

bool is_data_loader(std::string_view name);

// Whether the Trainer created the loader, from its own arguments.
bool is_loader_of_trainer(std::string_view name);

// The value of one of the loader's options; nothing if the program left it out or gave PyTorch's
// default.
std::optional<std::string_view> loader_option(std::string_view name, std::string_view option);

// Whether it is a PyTorch loader that makes the batches on the loop's thread.
bool loads_without_workers(std::string_view name);

// 0: none, or not a number.
int worker_count(std::string_view name);

}  // namespace stepscope
