#include "metrics/wandb_endpoints.h"

#include <nlohmann/json.hpp>

namespace stepscope {

Result<std::string> add_wandb_endpoint(const std::string& before, const std::string& address) {
  using Json = nlohmann::ordered_json;
  Json endpoints =
      before.empty() ? Json::object() : Json::parse(before, nullptr, /*allow_exceptions=*/false);
  if (!endpoints.is_object()) {
    return Status::error(ErrorKind::kUsage, std::string(kWandbVariable) +
                                                " is not a JSON object, so W&B gets no metrics; "
                                                "correct it or unset it");
  }
  endpoints.emplace("stepscope", address);
  return endpoints.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace stepscope
