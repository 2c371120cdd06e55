#include "server/query/stages/script_accumulator.h"

#include "bson/json.h"
#include "server/query/stages/support.h"
#include "server/script/engine.h"

namespace server::query {

using bson::Element;
using bson::Value;
using bson::ValueView;

namespace {

std::string parse_code(const Element& field, PipelineContext& context) {
  const std::string name(field.name);
  const ExpressionPtr code = parse_expression(field, context.scope);
  const Value* constant = code->constant();
  if (!constant) refuse(4544701, "$accumulator '" + name + "' must be a constant expression");
  auto source = script::source_of(*constant);
  if (!source) refuse(4544702, "$accumulator '" + name + "' must be a String or Code");
  return *std::move(source);
}

struct Sources {
  std::string init, accumulate, merge, finalize;
};

// The groups of a pipeline run one after the other, and so do their calls.
class Functions {
 public:
  Functions(Sources sources, Allowance& allowance) : sources_(std::move(sources)), allowance_(allowance) {}

  Value init(std::span<const ValueView> arguments) { return engine().call(init_, arguments); }
  Value accumulate(std::span<const ValueView> arguments) { return engine().call(accumulate_, arguments); }
  Value finalize(const Value& state) {
    if (sources_.finalize.empty()) return state;
    const ValueView argument = state;
    return engine().call(finalize_, {&argument, 1});
  }

 private:
  script::Engine& engine() {
    if (engine_) return *engine_;
    script::check_enabled();
    auto made = std::make_unique<script::Engine>(&allowance_);
    init_ = made->compile(sources_.init);
    accumulate_ = made->compile(sources_.accumulate);
    made->compile(sources_.merge);  // nothing is merged here, but a wrong function is an error
    if (!sources_.finalize.empty()) finalize_ = made->compile(sources_.finalize);
    engine_ = std::move(made);
    return *engine_;
  }

  const Sources sources_;
  Allowance& allowance_;
  std::unique_ptr<script::Engine> engine_;
  script::Engine::Function init_ = 0, accumulate_ = 0, finalize_ = 0;
};

class ScriptAccumulator final : public Accumulator {
 public:
  ScriptAccumulator(Functions& functions, Value state) : functions_(functions), state_(std::move(state)) {}

  void add(const ValueView& value) override {
    if (!value.is_array())
      refuse(4544712,
             "$accumulator accumulateArgs must evaluate to an array: " + (value.exists() ? bson::to_shell(value) : "missing"));
    std::vector<ValueView> arguments{state_};
    for (const Element& one : value.as_document()) arguments.push_back(one);
    state_ = functions_.accumulate(arguments);
  }
  Value result() const override { return functions_.finalize(state_); }
  size_t bytes() const override { return sizeof(*this) + state_.view().bytes().size(); }

 private:
  Functions& functions_;
  Value state_;
};

class Accumulation final : public ScriptAccumulation {
 public:
  Accumulation(Sources sources, ExpressionPtr init_arguments, Allowance& allowance)
      : functions_(std::move(sources), allowance), init_arguments_(std::move(init_arguments)) {}

  std::unique_ptr<Accumulator> make(Frame& frame) const override {
    std::vector<ValueView> arguments;
    Value given;
    if (init_arguments_) {
      given = init_arguments_->evaluate(frame);
      if (!given.view().is_array())
        refuse(4544711,
               "$accumulator initArgs must evaluate to an array: " + (given.exists() ? bson::to_shell(given.view()) : "missing"));
      for (const Element& one : given.view().as_document()) arguments.push_back(one);
    }
    return std::make_unique<ScriptAccumulator>(functions_, functions_.init(arguments));
  }

 private:
  mutable Functions functions_;
  const ExpressionPtr init_arguments_;
};

}  // namespace

ScriptAccumulationField parse_script_accumulation(const ValueView& specification, PipelineContext& context) {
  if (!specification.is_object())
    refuse(4544703, "$accumulator expects an object as an argument; found: " + type_of(specification));
  Sources sources;
  ExpressionPtr init_arguments, input;
  bool has_lang = false;
  for (const Element& field : specification.as_document()) {
    if (field.name == "init") {
      sources.init = parse_code(field, context);
    } else if (field.name == "accumulate") {
      sources.accumulate = parse_code(field, context);
    } else if (field.name == "merge") {
      sources.merge = parse_code(field, context);
    } else if (field.name == "finalize") {
      sources.finalize = parse_code(field, context);
    } else if (field.name == "initArgs") {
      init_arguments = parse_expression(field, context.scope);
    } else if (field.name == "accumulateArgs") {
      input = parse_expression(field, context.scope);
    } else if (field.name == "lang") {
      if (!field.is_string()) refuse(4544704, "$accumulator lang must be a string; found: " + type_of(field));
      if (field.as_string() != "js") refuse(4544705, "$accumulator only supports lang: 'js'");
      has_lang = true;
    } else {
      refuse(4544706, "$accumulator got an unexpected field: " + std::string(field.name));
    }
  }
  if (sources.init.empty()) refuse(4544707, "$accumulator missing required argument 'init'");
  if (sources.accumulate.empty()) refuse(4544708, "$accumulator missing required argument 'accumulate'");
  if (sources.merge.empty()) refuse(4544709, "$accumulator missing required argument 'merge'");
  if (!input) refuse(4544710, "$accumulator missing required argument 'accumulateArgs'");
  if (!has_lang) refuse(4544705, "$accumulator missing required argument 'lang'");
  return {std::make_shared<Accumulation>(std::move(sources), std::move(init_arguments), context.allowance), std::move(input)};
}

}  // namespace server::query
