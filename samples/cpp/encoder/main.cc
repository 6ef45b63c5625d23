// Classifies sentences with a transformer encoder on the CPU: one at a time, in batches, or all at
// once, as they come or sorted by length. Reports the time per sentence, and the shares of
// tokenizing and padding.
#include <stepscope/stepscope.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <utility>

#include "samples/cpp/encoder/batches.h"
#include "samples/cpp/encoder/model.h"
#include "samples/cpp/encoder/options.h"
#include "samples/cpp/encoder/sentences.h"
#include "samples/cpp/encoder/tokenizer.h"
#include "samples/cpp/step_log.h"

namespace encoder {
namespace {

constexpr std::size_t kLexicon = 20'000;
constexpr std::size_t kWholeWords = 4'000;  // the most frequent; the tokenizer keeps them whole
constexpr std::size_t kLongest = 256;       // tokens

struct Texts {
  std::vector<std::string> sentences;
  std::vector<Group> groups;
  Tokenizer tokenizer;
};

Texts make_texts(const Options& options) {
  const std::vector<std::string> lexicon = make_lexicon(kLexicon);
  std::vector<std::string> sentences = make_sentences(options.sentences, lexicon, options.seed);
  std::vector<std::size_t> lengths;
  for (const std::string& sentence : sentences) lengths.push_back(sentence.size());
  std::vector<Group> groups = plan_batches(lengths, options.mode, options.batch, options.sorted);
  const std::vector<std::string> frequent(lexicon.begin(), lexicon.begin() + kWholeWords);
  return {std::move(sentences), std::move(groups), Tokenizer(frequent, syllables())};
}

struct Batch {
  torch::Tensor tokens;  // [sentences, longest], int64, padded with kPad
  std::vector<std::size_t> lengths;
  Padding padding;
};

Batch encode(const Texts& texts, const Group& group) {
  std::vector<std::vector<TokenId>> rows;
  std::size_t longest = 0;
  for (const std::size_t number : group) {
    rows.push_back(texts.tokenizer.encode(texts.sentences[number], kLongest));
    longest = std::max(longest, rows.back().size());
  }
  Batch batch{
      torch::full({static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(longest)},
                  kPad, torch::kInt64),
      {},
      {0, rows.size() * longest}};
  auto* row = batch.tokens.data_ptr<TokenId>();
  for (const std::vector<TokenId>& tokens : rows) {
    std::copy(tokens.begin(), tokens.end(), row);
    row += longest;
    batch.lengths.push_back(tokens.size());
    batch.padding.tokens += tokens.size();
  }
  return batch;
}

// The groups of `texts` as batches, each encoded on demand; a single-pass range.
class Encoded {
 public:
  explicit Encoded(const Texts& texts) : texts_(texts) {}

  class Iterator {
   public:
    explicit Iterator(const Texts& texts) : texts_(texts) { read(); }
    const Batch& operator*() const { return batch_; }
    Iterator& operator++() {
      ++next_;
      read();
      return *this;
    }
    bool operator==(std::default_sentinel_t) const { return next_ == texts_.groups.size(); }

   private:
    void read() {
      if (next_ < texts_.groups.size()) batch_ = encode(texts_, texts_.groups[next_]);
    }

    const Texts& texts_;
    std::size_t next_ = 0;
    Batch batch_;
  };
  [[nodiscard]] Iterator begin() const { return Iterator(texts_); }
  [[nodiscard]] static std::default_sentinel_t end() { return {}; }

 private:
  const Texts& texts_;
};

struct Result {
  samples::StepLog log;
  Padding padding;
  double score = 0;  // sum of all outputs; does not depend on the grouping
};

Result classify(const Texts& texts, Classifier& model) {
  const torch::NoGradGuard no_grad;
  model->eval();
  model->forward(encode(texts, texts.groups.front().size() > 64 ? Group{0} : texts.groups.front())
                     .tokens);  // touches memory for the first time; a large batch has its own
  Result result;
  result.log.restart();
  for (const Batch& batch : stepscope::input(Encoded(texts), "tokenizer")) {
    result.log.batch_arrived();
    stepscope::lengths(batch.lengths);  // padding cannot be seen from outside
    result.score += model->forward(batch.tokens).sum().item<double>();
    result.padding.tokens += batch.padding.tokens;
    result.padding.computed += batch.padding.computed;
    stepscope::step();
    result.log.step_ended();
  }
  return result;
}

void print(const Result& result, std::size_t sentences) {
  const samples::StepLog& log = result.log;
  const samples::StepLog::Mean mean = log.mean(1, log.size());
  const double total_ms = mean.step_ms * static_cast<double>(mean.steps);
  std::printf("%zu sentences in %zu calls, %.2f s: %.3f ms a sentence (scores sum to %.2f)\n",
              sentences, mean.steps, total_ms / 1e3, total_ms / static_cast<double>(sentences),
              result.score);
  std::printf("a call           mean %.2f ms   p50 %.2f   p90 %.2f   p99 %.2f\n", mean.step_ms,
              log.percentile_ms(0.5), log.percentile_ms(0.9), log.percentile_ms(0.99));
  std::printf("tokenizing       %.2f %% of the time\n", 100 * mean.input_share());
  std::printf("padding          %.1f %% of the %zu tokens computed\n", 100 * result.padding.waste(),
              result.padding.computed);
}

void run(const Options& options) {
  if (options.threads > 0) torch::set_num_threads(options.threads);
  torch::manual_seed(options.seed);
  const Texts texts = make_texts(options);
  ModelSize size;
  size.vocabulary = texts.tokenizer.vocabulary_size();
  size.longest = static_cast<std::int64_t>(kLongest);
  size.width = options.width;
  size.layers = options.layers;
  Classifier model(size);
  print(classify(texts, model), options.sentences);
}

}  // namespace
}  // namespace encoder

int main(int argc, char** argv) {
  const encoder::Options options = encoder::parse_options(argc, argv);
  try {
    encoder::run(options);
  } catch (const c10::Error& error) {  // out of memory, most likely
    std::fprintf(stderr, "encoder: %s\n", error.what_without_backtrace());
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "encoder: %s\n", error.what());
    return 1;
  }
}
