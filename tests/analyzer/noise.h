// Step times of one kind, of many shapes: what tests of populations and trends must stay silent on.
#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace stepscope::testing {

using Random = std::mt19937_64;

struct Noise {
  std::string name;
  std::function<std::vector<double>(Random&, std::size_t)> make;  // so many values, about 10 ms
};

inline Noise independent(std::string name, std::function<double(Random&)> draw) {
  return {std::move(name), [draw = std::move(draw)](Random& random, std::size_t count) {
            std::vector<double> values(count);
            for (double& value : values) value = draw(random);
            return values;
          }};
}

// A first-order autoregression of the logarithm; rho: the correlation of neighbours.
inline Noise autoregressive(double rho) {
  return {"autoregressive " + std::to_string(rho), [rho](Random& random, std::size_t count) {
            std::normal_distribution<double> normal;
            std::vector<double> values(count);
            double state = normal(random);
            for (double& value : values) {
              state = rho * state + std::sqrt(1 - rho * rho) * normal(random);
              value = 10e6 * std::exp(0.15 * state);
            }
            return values;
          }};
}

inline double lognormal(Random& random, double mean, double sigma) {
  return mean * std::lognormal_distribution<double>(0, sigma)(random);
}

inline double uniform(Random& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

inline std::vector<Noise> one_kind_of_many_shapes() {
  return {
      independent("tight", [](Random& r) { return lognormal(r, 10e6, 0.002); }),
      independent("lognormal", [](Random& r) { return lognormal(r, 10e6, 0.15); }),
      independent("wide lognormal", [](Random& r) { return lognormal(r, 10e6, 0.8); }),
      independent("uniform", [](Random& r) { return uniform(r, 5e6, 15e6); }),
      independent("gamma", [](Random& r) { return std::gamma_distribution<double>(3, 3e6)(r); }),
      independent("exponential tail",
                  [](Random& r) { return 5e6 + std::exponential_distribution<double>(2e-7)(r); }),
      independent("heavy tail",
                  [](Random& r) { return 8e6 * std::pow(uniform(r, 1e-9, 1), -1 / 2.5); }),
      autoregressive(0.5),
      autoregressive(0.9),
  };
}

}  // namespace stepscope::testing
