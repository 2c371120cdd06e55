#include "server/assembly/dedup_parameters.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "server/core/parameters.h"
#include "storage/background/dedup_service.h"

namespace server {

namespace {

using base::ErrorCode;
using base::OperationError;
using dedup::Options;

// A field of the options: its name in the messages of dedup::validate, and how it is read and written. Values are whole numbers
// unless `real`.
struct Knob {
  const char* parameter;
  const char* field;
  double (*get)(const Options&);
  bool (*set)(Options&, double);  // returns false if the type can't hold it
  bool real = false;
};

template <auto field>
double get_field(const Options& options) {
  return static_cast<double>(options.*field);
}

template <auto field>
bool set_field(Options& options, double value) {
  using Type = std::remove_reference_t<decltype(options.*field)>;
  if constexpr (!std::is_floating_point_v<Type>) {
    if (value < 0 || value > std::min(9e15, static_cast<double>(std::numeric_limits<Type>::max()))) return false;
  }
  options.*field = static_cast<Type>(value);
  return true;
}

template <auto field>
constexpr Knob knob(const char* parameter, const char* name) {
  return {parameter, name, get_field<field>, set_field<field>, std::is_same_v<decltype(field), double Options::*>};
}

constexpr Knob knobs[] = {
    knob<&Options::features_max>("dedupFeatures", "features_max"),
    knob<&Options::content_bytes_min>("dedupContentBytesMin", "content_bytes_min"),
    knob<&Options::chunk_bytes>("dedupChunkBytes", "chunk_bytes"),
    knob<&Options::index_bytes_max>("dedupIndexBytesMax", "index_bytes_max"),
    knob<&Options::index_bytes_per_record>("dedupIndexBytesPerRecord", "index_bytes_per_record"),
    knob<&Options::matches_per_feature>("dedupMatchesPerFeature", "matches_per_feature"),
    knob<&Options::metadata_cache_bytes>("dedupMetadataCacheBytes", "metadata_cache_bytes"),
    knob<&Options::cache_reward>("dedupCacheReward", "cache_reward"),
    knob<&Options::head_reward>("dedupHeadReward", "head_reward"),
    knob<&Options::sources_tried>("dedupSourcesTried", "sources_tried"),
    knob<&Options::anchor_interval>("dedupAnchorInterval", "anchor_interval"),
    knob<&Options::worth_percent>("dedupWorthPercent", "worth_percent"),
    knob<&Options::hop_distance>("dedupHopDistance", "hop_distance"),
    knob<&Options::hop_levels_max>("dedupHopLevelsMax", "hop_levels_max"),
    knob<&Options::read_bytes_max>("dedupReadBytesMax", "read_bytes_max"),
    knob<&Options::read_hops_max>("dedupReadHopsMax", "read_hops_max"),
    knob<&Options::decode_hops_max>("dedupDecodeHopsMax", "decode_hops_max"),
    knob<&Options::decode_bytes_max>("dedupDecodeBytesMax", "decode_bytes_max"),
    knob<&Options::decode_content_bytes_max>("dedupDecodeContentBytesMax", "decode_content_bytes_max"),
    knob<&Options::demotion_depth_max>("dedupDemotionDepthMax", "demotion_depth_max"),
    knob<&Options::demotion_worth_percent>("dedupDemotionWorthPercent", "demotion_worth_percent"),
    knob<&Options::demote_after_secs>("dedupDemoteAfterSecs", "demote_after_secs"),
    knob<&Options::source_cache_bytes>("dedupSourceCacheBytes", "source_cache_bytes"),
    knob<&Options::writeback_cache_bytes>("dedupWriteBackCacheBytes", "writeback_cache_bytes"),
    knob<&Options::hop_base_cache_bytes>("dedupHopBaseCacheBytes", "hop_base_cache_bytes"),
    knob<&Options::governor_ratio_min>("dedupGovernorRatio", "governor_ratio_min"),
    knob<&Options::governor_window>("dedupGovernorWindow", "governor_window"),
    knob<&Options::governor_probe_contents>("dedupGovernorProbe", "governor_probe_contents"),
    knob<&Options::size_filter_percentile>("dedupSizeFilterPercentile", "size_filter_percentile"),
    knob<&Options::size_filter_refresh>("dedupSizeFilterRefresh", "size_filter_refresh"),
};

[[noreturn]] void invalid(const std::string& parameter, const std::string& why) {
  throw OperationError(ErrorCode::bad_value, "Invalid value for parameter " + parameter + ": " + why);
}

double number_of(const std::string& parameter, const bson::ValueView& value, bool real) {
  if (!value.is_number()) invalid(parameter, "not a number");
  const double number = value.to_double();
  if (!std::isfinite(number) || (!real && number != std::trunc(number)))
    invalid(parameter, real ? "not a number" : "not a whole number");
  return number;
}

bool boolean_of(const std::string& parameter, const bson::ValueView& value) {
  if (value.type() != bson::Type::boolean && !value.is_number()) invalid(parameter, "not a boolean");
  return value.truthy();
}

// Turns "features_max must be …" into "dedupFeatures must be …".
std::string in_parameters_words(const std::string& message) {
  const std::string field = message.substr(0, message.find(' '));
  for (const Knob& knob : knobs) {
    if (field == knob.field) return knob.parameter + message.substr(field.size());
  }
  return message;
}

bson::Value whole(double value) {
  if (value <= std::numeric_limits<int32_t>::max()) return bson::Value(static_cast<int32_t>(value));
  return bson::Value(static_cast<int64_t>(value));
}

void set_valid(storage::DedupService& dedup, const std::string& name, const Options& options) {
  if (const auto checked = dedup::validate(options); !checked) invalid(name, in_parameters_words(checked.failure().message));
  dedup.set_options(options);
}

void add_knob(ServerParameters& parameters, storage::DedupService& dedup, const Knob& knob) {
  const std::string name = knob.parameter;
  const auto get = [&dedup, knob] {
    const double value = knob.get(dedup.options());
    return knob.real ? bson::Value(value) : whole(value);
  };
  const auto set = [&dedup, knob, name](const bson::ValueView& given) {
    Options options = dedup.options();
    const double value = number_of(name, given, knob.real);
    if (!knob.set(options, value)) invalid(name, std::to_string(static_cast<int64_t>(value)) + " is out of range");
    set_valid(dedup, name, options);
  };
  parameters.add(name, {get, set});
}

// A field with a few named values.
template <class Field>
using Names = std::initializer_list<std::pair<Field, const char*>>;

template <class Field>
void add_choice(ServerParameters& parameters, storage::DedupService& dedup, const std::string& name, Field Options::*field,
                Names<Field> names) {
  const std::vector<std::pair<Field, const char*>> known(names);
  const auto get = [&dedup, field, known] {
    const Field value = dedup.options().*field;
    return bson::Value(std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.first == value; })->second);
  };
  const auto set = [&dedup, field, known, name](const bson::ValueView& given) {
    if (!given.is_string()) invalid(name, "not a string");
    const auto wanted =
        std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.second == given.as_string(); });
    if (wanted == known.end()) {
      std::string all;
      for (const auto& [value, word] : known) all += (all.empty() ? "" : ", ") + std::string(word);
      invalid(name, "must be one of " + all);
    }
    Options options = dedup.options();
    options.*field = wanted->first;
    set_valid(dedup, name, options);
  };
  parameters.add(name, {get, set});
}

}  // namespace

void add_dedup_parameters(ServerParameters& parameters, storage::DedupService& dedup) {
  parameters.add("dedupEnabled",
                 {[&dedup] { return bson::Value(dedup.enabled()); },
                  [&dedup](const bson::ValueView& value) { dedup.set_enabled(boolean_of("dedupEnabled", value)); }});
  for (const Knob& knob : knobs) add_knob(parameters, dedup, knob);
  add_choice(parameters, dedup, "dedupSketch", &Options::sketch_method,
             {{dedup::SketchMethod::windows, "windows"},
              {dedup::SketchMethod::gear_chunks, "gearChunks"},
              {dedup::SketchMethod::rabin_chunks, "rabinChunks"}});
  add_choice(parameters, dedup, "dedupIndexLayout", &Options::index_layout,
             {{dedup::IndexLayout::two_slots, "twoSlots"}, {dedup::IndexLayout::published, "published"}});
  add_choice(parameters, dedup, "dedupOverlap", &Options::overlap,
             {{dedup::OverlapPolicy::keep, "keep"}, {dedup::OverlapPolicy::re_encode, "reEncode"}});
  add_choice(parameters, dedup, "dedupDelta", &Options::delta_method,
             {{dedup::DeltaMethod::resync, "resync"}, {dedup::DeltaMethod::anchors, "anchors"}});
  add_choice(parameters, dedup, "dedupEncoding", &Options::encoding,
             {{dedup::EncodingScheme::hop, "hop"},
              {dedup::EncodingScheme::version_jumping, "versionJumping"},
              {dedup::EncodingScheme::backward, "backward"}});
  parameters.add("dedupSizeFilterAlways", {[&dedup] { return bson::Value(dedup.options().size_filter_always); },
                                           [&dedup](const bson::ValueView& value) {
                                             Options options = dedup.options();
                                             options.size_filter_always = boolean_of("dedupSizeFilterAlways", value);
                                             dedup.set_options(options);
                                           }});
  parameters.add("dedupDemoteLineages", {[&dedup] { return bson::Value(dedup.options().demote_lineages); },
                                         [&dedup](const bson::ValueView& value) {
                                           Options options = dedup.options();
                                           options.demote_lineages = boolean_of("dedupDemoteLineages", value);
                                           dedup.set_options(options);
                                         }});
  parameters.add("dedupQueueBytes", {[&dedup] { return whole(static_cast<double>(dedup.queue_bytes())); },
                                     [&dedup](const bson::ValueView& value) {
                                       const double bytes = number_of("dedupQueueBytes", value, false);
                                       if (bytes < 1 << 20 || bytes > 1e13)
                                         invalid("dedupQueueBytes", "must be from 1048576 to 10000000000000");
                                       dedup.set_queue_bytes(static_cast<uint64_t>(bytes));
                                     }});
}

}  // namespace server
