#include "server/testing/query_grammar.h"

#include <cstdio>
#include <map>

#include "base/error.h"
#include "base/random.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "server/query/expressions/registry.h"
#include "server/query/stages/registry.h"
#include "server/write/update/operators.h"

namespace server::testing {

namespace {

using bson::testing::Grammar;
using Alternatives = std::vector<std::string>;
using Shapes = std::map<std::string, Alternatives, std::less<>>;

void add_values(Grammar& grammar) {
  grammar.add("small", {"1", "2", "3", "0", "-1", "5", "10", "NumberLong(2)", "2.0", "NumberDecimal('3')"})
      .add("count", {"1", "2", "3", "NumberLong(5)", "10.0"})
      .add("truth", {"true", "false"})
      .add("n", {"1",
                 "'@small'",
                 "'@small'",
                 "'@small'",
                 "2.5",
                 "-0.0",
                 "NaN",
                 "Infinity",
                 "-Infinity",
                 "1e300",
                 "5e-324",
                 "2147483647",
                 "-2147483648",
                 "NumberLong('9223372036854775807')",
                 "NumberLong('-9223372036854775808')",
                 "9223372036854775808.0",
                 "NumberDecimal('1.5')",
                 "NumberDecimal('NaN')",
                 "NumberDecimal('Infinity')",
                 "NumberDecimal('9.999999999999999999999999999999999E6144')",
                 "NumberDecimal('1E-6176')"})
      .add("s", {"'abc'", "''", "'some text'", "'SOME'", "'é☃𝄞'", "'12'", "'-3.5e2'", "'a b c'", "'true'", "'aaaaaaaaaaaaaaaa'",
                 "'2024-02-29T12:00:00Z'", "'507f1f77bcf86cd799439011'", "'a'", "' '", "'x.y'"})
      .add("d",
           {"ISODate('2024-02-29T12:00:00Z')", "Date(0)", "Date(-1)", "ISODate('0001-01-01')", "ISODate('9999-12-31')",
            "Timestamp(1700000000, 1)", "ObjectId('507f1f77bcf86cd799439011')", "{$date: {$numberLong: '9223372036854775807'}}",
            "{$date: {$numberLong: '-9223372036854775808'}}", "ISODate('2021-03-28T01:30:00Z')"})
      .add("constant", {"1", "'@n'", "'@s'", "'@d'", "'@truth'", "null", "'@any'", "[1, 2]", "{a: 1}", "'@small'"})
      .add("element", {"1", "'@small'", "'@s'", "{k: '@n', 'v?': '@any', 'a?': '@small'}", "['@small', '@small']", "'@any'"})
      .add("fields",
           {"{a: 1}",
            "{'a?': '@n', 'b?': {'c?': '@n', 'd?': '@constant'}, 'l?': ['@element', {'@many': '@element'}], 's?': '@s', 'd?': "
            "'@d', 'o?': [{'@many': {k: '@small', 'v?': '@constant', 'a?': '@n'}}], 'x?': '@any'}",
            "{'@many': {'@name': '@any'}}"})
      .add("document",
           {"{_id: 1, a: 1}",
            "{_id: 1, 'a?': '@n', 'b?': {'c?': '@n', 'd?': '@constant'}, 'l?': ['@element', {'@many': '@element'}], 's?': "
            "'@s', 'd?': '@d', 'o?': [{'@many': {k: '@small', 'v?': '@constant', 'a?': '@n'}}], 'x?': '@any'}"})
      .add("name", {"'a'", "'b'", "'c'", "'d'", "'k'", "'l'", "'o'", "'s'", "'v'", "'x'"})
      .add("field", {"'a'", "'b'", "'b.c'", "'b.d'", "'l'", "'o'", "'o.k'", "'o.v'", "'s'", "'d'", "'x'", "'_id'", "'l.0'",
                     "'new'", "'x.a'", "'missing.y'"})
      .add("dollar", {"'$a'", "'$b'", "'$b.c'", "'$b.d'", "'$l'", "'$o'", "'$o.k'", "'$o.v'", "'$s'", "'$d'", "'$x'", "'$_id'",
                      "'$missing'", "'$x.a'"});
}

// --- expressions

// Tells whether an operator's parser takes so many arguments.
bool takes(const query::OperatorEntry& entry, int count) {
  bson::ArrayBuilder arguments;
  for (int i = 0; i < count; ++i) arguments.append("$a");
  query::Scope scope(0);
  try {
    entry.parse(entry.name, arguments.done_value(), scope);
    return true;
  } catch (const base::OperationError&) {
    return false;
  }
}

// An operator without a shape of its own takes as many arguments as its parser does, of the kind `one` or others.
Alternatives arguments_of(const query::OperatorEntry& entry, const std::string& one) {
  const std::string at = "'@" + one + "'";
  Alternatives all;
  const auto add = [&](int count, const Alternatives& shapes) {
    if (takes(entry, count)) all.insert(all.end(), shapes.begin(), shapes.end());
  };
  add(1, {"[1]", at, "[" + at + "]", "['@expression']"});
  add(2, {"[1, 2]", "[" + at + ", " + at + "]", "['@array', " + at + "]", "['@expression', " + at + "]"});
  add(3, {"[1, 2, 3]", "[" + at + ", " + at + ", " + at + "]", "['@array', " + at + ", '@small']"});
  if (all.empty()) all = {"{}", at, "{'@name': '@expression'}"};
  return all;
}

const Shapes& expression_shapes() {
  static const Shapes shapes = [] {
    Shapes all = {
        {"$zip", {"{inputs: ['@array', '@array'], 'useLongestLength?': '@truth', 'defaults?': ['@expression', 1]}"}},
        {"$sortArray", {"{input: '@array', sortBy: '@order'}", "{input: '@array', sortBy: '@sort'}"}},
        {"$size", {"'@array'"}},
        {"$slice", {"['@array', '@small']", "['@array', '@small', '@count']"}},
        {"$range", {"['@small', '@small']", "[0, '@number', '@small']"}},
        {"$in", {"['@expression', '@array']"}},
        {"$indexOfArray", {"['@array', '@expression']", "['@array', '@expression', '@count', '@small']"}},
        {"$arrayElemAt", {"['@array', '@small']"}},
        {"$cond", {"{if: '@bool', then: '@expression', else: '@expression'}", "['@bool', '@expression', '@expression']"}},
        {"$switch",
         {"{branches: [{case: '@bool', then: '@expression'}, {'@many': {case: '@bool', then: '@expression'}}], 'default?': "
          "'@expression'}"}},
        {"$ifNull", {"['@expression', '@expression']", "['@dollar', '@dollar', '@expression']"}},
        {"$convert",
         {"{input: '@expression', to: '@type', 'onError?': '@expression', 'onNull?': '@expression'}",
          "{input: '@string', to: '@type', onError: 'bad'}"}},
        {"$dateToString", {"{date: '@date', 'format?': '@format', 'timezone?': '@timezone', 'onNull?': '@expression'}"}},
        {"$dateFromString",
         {"{dateString: '@string', 'format?': '@format', 'timezone?': '@timezone', 'onError?': '@expression', "
          "'onNull?': '@expression'}"}},
        {"$dateFromParts",
         {"{year: '@year', 'month?': '@number', 'day?': '@number', 'hour?': '@number', 'minute?': '@number', 'second?': "
          "'@number', "
          "'millisecond?': '@number', 'timezone?': '@timezone'}",
          "{isoWeekYear: '@year', 'isoWeek?': '@number', 'isoDayOfWeek?': '@number', 'timezone?': '@timezone'}"}},
        {"$dateToParts", {"{date: '@date', 'timezone?': '@timezone', 'iso8601?': '@truth'}"}},
        {"$dateDiff",
         {"{startDate: '@date', endDate: '@date', unit: '@unit', 'timezone?': '@timezone', 'startOfWeek?': '@weekday'}"}},
        {"$dateTrunc",
         {"{date: '@date', unit: '@unit', 'binSize?': '@count', 'timezone?': '@timezone', 'startOfWeek?': '@weekday'}"}},
        {"$getField", {"'@name'", "{field: '@name', input: '@object'}"}},
        {"$setField", {"{field: '@name', input: '@object', value: '@expression'}"}},
        {"$unsetField", {"{field: '@name', input: '@object'}"}},
        {"$objectToArray", {"'@object'"}},
        {"$arrayToObject",
         {"[[['@name', '@expression'], {'@many': ['@name', '@expression']}]]", "[[{k: '@name', v: '@expression'}]]",
          "{$objectToArray: '@object'}"}},
        {"$percentile",
         {"{input: '@array', p: [0.5, 0.9], method: 'approximate'}", "{input: '@number', p: [1], method: 'approximate'}"}},
        {"$median", {"{input: '@array', method: 'approximate'}"}},
        {"$function",
         {"{body: 'function(a, b) { return a; }', args: ['@expression', '@dollar'], lang: 'js'}",
          "{body: 'a => [a, 1]', args: '@array', lang: 'js'}"}},
        {"$let",
         {"{vars: {this: '@expression'}, in: '@inner'}",
          "{vars: {v: '@array', this: '@array'}, in: {$concatArrays: ['$$v', '$$this']}}"}},
        {"$map", {"{input: '@array', in: '@inner'}", "{input: '@array', as: 'v', in: ['$$v', '@expression']}"}},
        {"$filter",
         {"{input: '@array', cond: '@inner', 'limit?': '@count'}",
          "{input: '@array', as: 'v', cond: {$gt: ['$$v', '@expression']}}"}},
        {"$reduce", {"{input: '@array', initialValue: '@expression', in: '@folded'}"}},
        {"$literal", {"'@any'"}},
        {"$const", {"'@any'"}},
        {"$split", {"['@string', '@s']"}},
        {"$strcasecmp", {"['@string', '@string']"}},
        {"$indexOfBytes", {"['@string', '@string']", "['@string', '@string', '@small', '@count']"}},
        {"$indexOfCP", {"['@string', '@string']", "['@string', '@string', '@small', '@count']"}},
        {"$mergeObjects", {"['@object', '@object']", "'@object'", "'@array'"}},
        {"$binarySize", {"'@string'", "BinData(0, 'AAEC')", "'$x'"}},
        {"$bsonSize", {"'@object'"}},
        {"$tsSecond", {"Timestamp(5, 1)", "'@date'"}},
        {"$tsIncrement", {"Timestamp(5, 1)", "'@date'"}},
        {"$rand", {"{}"}},
        {"$meta", {"'textScore'"}},
        {"$toHashedIndexKey", {"'@expression'"}},
    };
    for (const char* one : {"$firstN", "$lastN", "$minN", "$maxN"}) all[one] = {"{input: '@array', n: '@count'}"};
    for (const char* one : {"$year", "$month", "$dayOfMonth", "$hour", "$minute", "$second", "$millisecond", "$dayOfWeek",
                            "$dayOfYear", "$isoWeekYear", "$isoWeek", "$isoDayOfWeek", "$week"})
      all[one] = {"'@date'", "{date: '@date', 'timezone?': '@timezone'}"};
    for (const char* one : {"$dateAdd", "$dateSubtract"})
      all[one] = {"{startDate: '@date', unit: '@unit', amount: '@number', 'timezone?': '@timezone'}",
                  "{startDate: '@date', unit: '@unit', amount: '@small'}"};
    for (const char* one : {"$trim", "$ltrim", "$rtrim"}) all[one] = {"{input: '@string', 'chars?': '@s'}"};
    for (const char* one : {"$replaceOne", "$replaceAll"}) all[one] = {"{input: '@string', find: '@s', replacement: '@string'}"};
    for (const char* one : {"$regexMatch", "$regexFind", "$regexFindAll"})
      all[one] = {"{input: '@string', regex: '@regex'}", "{input: '@string', regex: '@pattern', 'options?': '@options'}"};
    for (const char* one : {"$substr", "$substrBytes", "$substrCP"})
      all[one] = {"['@string', '@count', '@count']", "['@string', '@number', '@number']"};
    for (const char* one : {"$first", "$last", "$reverseArray", "$allElementsTrue", "$anyElementTrue"}) all[one] = {"['@array']"};
    return all;
  }();
  return shapes;
}

// The families of the registry, in its order: what their operators give, and what they take.
struct FamilyKinds {
  const char* gives;
  const char* takes;
};
constexpr FamilyKinds families[] = {{"number", "number"},  {"array", "array"},    {"bool", "expression"}, {"bool", "expression"},
                                    {"any", "expression"}, {"any", "expression"}, {"date", "date"},       {"any", "expression"},
                                    {"object", "object"},  {"number", "array"},   {"any", "string"},      {"any", "expression"},
                                    {"array", "array"},    {"string", "string"},  {"number", "number"},   {"any", "expression"}};

void add_operators(Grammar& grammar) {
  size_t family = 0;
  for (const auto operators : query::operator_families()) {
    // A family that this file doesn't know takes any expressions.
    const FamilyKinds kinds = family < std::size(families) ? families[family] : FamilyKinds{"any", "expression"};
    ++family;
    for (const query::OperatorEntry& entry : operators) {
      const std::string name(entry.name), rule = rule_of("expression", name);
      const auto shape = expression_shapes().find(name);
      for (const std::string& argument : shape != expression_shapes().end() ? shape->second : arguments_of(entry, kinds.takes))
        grammar.add(rule, {"{'" + name + "': " + argument + "}"});
      grammar.add("operator", {"'@" + rule + "'"});
      if (std::string_view(kinds.gives) != "any") grammar.add(kinds.gives, {"'@" + rule + "'"});
    }
  }
}

void add_expressions(Grammar& grammar) {
  grammar.add("path", {"'$a'"}).add("path", {"'@dollar'", "'@dollar'", "'@dollar'"});
  grammar.add("operator", {"{$add: [1, '$a']}"});
  grammar.add("number", {"1", "'$a'", "'$b.c'", "'@n'", "'@n'", "'@path'", "'@expression'"})
      .add("string", {"'abc'", "'$s'", "'$s'", "'@s'", "'@s'", "'@path'", "'@expression'"})
      .add("date", {"ISODate('2024-02-29T12:00:00Z')", "'$d'", "'$d'", "'@d'", "'@d'", "'@path'", "'@expression'"})
      .add("array", {"[1, 2]", "'$l'", "'$o'", "'$l'", "['@expression', {'@many': '@expression'}]", "[{'@many': '@element'}]",
                     "'@path'", "'@expression'"})
      .add("object", {"{a: 1}", "'$b'", "'$$ROOT'", "{'@many': {'@name': '@expression'}}", "'@path'", "'@expression'"})
      .add("bool", {"true", "'@truth'", "{$gt: ['$a', 1]}", "'@path'", "'@expression'"})
      .add("expression", {"'$a'",
                          "'@path'",
                          "'@path'",
                          "'@number'",
                          "'@string'",
                          "'@date'",
                          "'@array'",
                          "'@object'",
                          "'@bool'",
                          "'@operator'",
                          "'@operator'",
                          "'@operator'",
                          "'@operator'",
                          "'@constant'",
                          "'$$NOW'",
                          "'$$REMOVE'",
                          "'$$ROOT'",
                          "'$$CURRENT.b'",
                          "{$literal: '@any'}",
                          "{'@name': '@expression'}",
                          "['@expression', '@expression']"})
      .add("inner", {"'$$this'", "{$add: ['$$this', '@number']}", "{$concat: [{$toString: '$$this'}, '@string']}", "'$$this.k'",
                     "{$lt: ['$$this', '@expression']}", "{$mergeObjects: ['$$this', '@object']}", "{$type: '$$this'}",
                     "{$ifNull: ['$$this.a', '@expression']}", "'@expression'"})
      .add("folded",
           {"'$$value'", "{$concatArrays: ['$$value', ['$$this']]}", "{$add: ['$$value', '$$this']}",
            "{$concat: ['$$value', {$toString: '$$this'}]}", "{$mergeObjects: ['$$value', '$$this']}", "'@expression'"});
  grammar
      .add("type", {"'int'", "'long'", "'double'", "'decimal'", "'string'", "'bool'", "'date'", "'objectId'", "2", "16",
                    "{type: 'int'}", "'@expression'"})
      .add("unit", {"'day'", "'year'", "'quarter'", "'month'", "'week'", "'hour'", "'minute'", "'second'", "'millisecond'"})
      .add("weekday", {"'monday'", "'sun'", "'Friday'"})
      .add("timezone",
           {"'UTC'", "'Europe/Berlin'", "'America/New_York'", "'+05:30'", "'-0100'", "'+14'", "'Pacific/Apia'", "'@s'"})
      .add("format",
           {"'%Y-%m-%d'", "'%Y-%m-%dT%H:%M:%S.%LZ'", "'%G-%V-%u'", "'%j %w %U %z %Z %%'", "'%d/%m/%Y'", "'%b %B'", "'@s'"})
      .add("year", {"2024", "1", "9999", "1970", "'@number'"})
      .add("order", {"1", "-1"})
      .add("regex", {"/a/", "/(b|c)*x?$/i", "/^s.m[e-z]/m", "/\\\\d+(\\\\s)?/", "/é./s", "/(?<n>a)\\\\1/", "/./", "'@pattern'"})
      .add("pattern", {"'a'", "'^s'", "'(a|b)+'", "'[a-'", "'\\\\p{L}'", "'@s'"})
      .add("options", {"'i'", "'m'", "'sx'", "''"});
}

// --- filters, projections, sorts

void add_filters(Grammar& grammar) {
  grammar
      .add("condition", {"1",
                         "'@constant'",
                         "'@n'",
                         "'@s'",
                         "{$eq: '@constant'}",
                         "{$gt: '@n'}",
                         "{$gte: '@constant', $lt: '@constant'}",
                         "{$lte: '@n', 'r?': 1}",
                         "{$gt: '@small', $lte: '@n'}",
                         "{$ne: '@constant'}",
                         "{$in: ['@constant', {'@many': '@constant'}, '@regex']}",
                         "{$nin: ['@constant', '@n']}",
                         "{$exists: '@truth'}",
                         "{$type: 'number'}",
                         "{$type: ['string', 'array', 16]}",
                         "{$type: 'object'}",
                         "{$mod: ['@count', '@small']}",
                         "{$regex: '@regex'}",
                         "{$regex: '@pattern', $options: '@options'}",
                         "{$size: '@small'}",
                         "{$all: ['@element', {'@many': '@element'}]}",
                         "{$all: [{$elemMatch: '@filter'}]}",
                         "{$elemMatch: '@filter'}",
                         "{$elemMatch: '@condition'}",
                         "{$not: '@condition'}",
                         "{$not: '@regex'}",
                         "{$bitsAllSet: '@count'}",
                         "{$bitsAnySet: [0, '@count']}",
                         "{$bitsAllClear: BinData(0, 'AQ==')}",
                         "{$bitsAnyClear: 3}",
                         "{$comment: 'x', $gt: '@n'}",
                         "'@regex'",
                         "null"})
      .add("filter", {"{a: 1}", "{'@field': '@condition'}", "{'@field': '@condition', '@many': {'@field': '@condition'}}",
                      "{'@field': '@condition'}", "{$or: ['@filter', {'@many': '@filter'}]}", "{$and: ['@filter', '@filter']}",
                      "{$nor: ['@filter']}", "{$expr: '@bool'}", "{$expr: {$eq: ['@expression', '@constant']}}",
                      "{$expr: {$gte: ['@dollar', '@n']}}", "{_id: {$in: ['@small', '@small']}}", "{}",
                      "{$alwaysTrue: 1, '@field': '@condition'}", "{$comment: 'x'}"})
      .add("projection",
           {"{a: 1}", "{'@field': 1, '@many': {'@field': 1}}", "{'@field': 0, '@many': {'@field': 0}}",
            "{_id: 0, '@field': '@truth'}", "{'@name': '@expression', '@many': {'@field': 1}}", "{'@field': {$slice: '@small'}}",
            "{'@field': {$slice: ['@small', '@count']}, 'a?': 1}", "{'@field': {$elemMatch: '@filter'}}", "{'l.$': 1}",
            "{'@name': {'@name': '@expression'}, b: {c: 1}}", "{'@field': {$meta: 'sortKey'}}"})
      .add("sort", {"{a: 1}", "{'@field': '@order'}", "{'@field': '@order', '@many': {'@field': '@order'}}", "{_id: '@order'}"});
}

// --- updates

const Shapes& update_shapes() {
  static const Shapes shapes = {
      {"$push",
       {"{'@target': '@constant'}", "{'@target': {$each: [{'@many': '@element'}], 'position?': 1}}",
        "{'@target': {$each: [{'@many': '@element'}], '$slice?': '@small', '$sort?': '@order', '$position?': '@small'}}",
        "{'@target': {$each: [{k: '@n'}], $sort: '@sort'}}"}},
      {"$addToSet", {"{'@target': '@element'}", "{'@target': {$each: ['@element', {'@many': '@element'}]}}"}},
      {"$pull", {"{'@target': '@element'}", "{'@target': '@filter'}", "{'@target': '@condition'}"}},
      {"$pullAll", {"{'@target': ['@element', {'@many': '@element'}]}"}},
      {"$pop", {"{'@target': '@order'}"}},
      {"$bit", {"{'@target': {and: '@count'}}", "{'@target': {xor: '@small', or: 4}}", "{'@target': {or: NumberLong(8)}}"}},
      {"$currentDate", {"{'@target': true}", "{'@target': {$type: 'timestamp'}}", "{'@target': {$type: 'date'}}"}},
      {"$inc", {"{'@target': '@n', '@many': {'@target': '@n'}}"}},
      {"$mul", {"{'@target': '@n'}"}},
      {"$unset", {"{'@target': 1, '@many': {'@target': 1}}"}},
  };
  return shapes;
}

void add_updates(Grammar& grammar) {
  grammar.add("target", {"'a'", "'@field'", "'@field'", "'@field'", "'l'", "'l.0'", "'l.$[]'", "'l.$[e]'", "'o.$[e].a'",
                         "'o.$[].a'", "'l.$'", "'o.$.k'", "'o.1.v'", "'new.deep.path'", "'b.new'"});
  grammar.add("modifier", {"{$set: {a: 2}}"});
  std::vector<std::string> all;
  for (const std::string_view entry : write::operator_names()) {
    const std::string name(entry), rule = rule_of("update", name);
    const auto shape = update_shapes().find(name);
    static const Alternatives plain = {"{'@target': '@constant', '@many': {'@target': '@constant'}}", "{'@target': '@n'}"};
    for (const std::string& argument : shape != update_shapes().end() ? shape->second : plain)
      grammar.add(rule, {"{'" + name + "': " + argument + "}"});
    grammar.add("modifier", {"'@" + rule + "'"});
    all.push_back("'" + name + "?': " + (shape != update_shapes().end() ? shape->second : plain).front());
  }
  grammar.add("modifier", {"{$rename: {'@field': '@field'}}"});
  // Two of them come together, in any order.
  for (size_t i = 0; i < all.size(); ++i) grammar.add("modifiers", {"{" + all[i] + ", " + all[(i * 5 + 3) % all.size()] + "}"});
  grammar.add("modifiers", {"'@modifier'", "'@modifier'", "'@modifier'"});
  grammar.add("update_stage", {"{$set: {'@field': '@expression'}}", "{$unset: '@field'}", "{$replaceWith: '@object'}",
                               "{$project: '@projection'}", "{$addFields: {'@name': '@expression', b: {'@name': '@expression'}}}",
                               "{$replaceRoot: {newRoot: {$mergeObjects: ['$$ROOT', '@object']}}}"});
  grammar.add("update", {"{$set: {a: 2}}", "'@modifier'", "'@modifier'", "'@modifiers'", "'@fields'",
                         "['@update_stage', {'@many': '@update_stage'}]"});
  grammar.add("array_filters", {"[]", "[{e: '@condition'}]", "[{'e.k': '@condition'}]", "[{e: {$gte: '@small'}}]",
                                "[{$or: [{e: '@condition'}, {'e.a': '@n'}]}]"});
  grammar.add("update_call", {"{u: '@update', 'arrayFilters?': '@array_filters', 'position?': '@small'}",
                              "{u: '@modifier', arrayFilters: '@array_filters', position: '@small'}"});
}

// --- pipelines

const Shapes& stage_shapes() {
  static const Shapes shapes = {
      {"$match", {"'@filter'"}},
      {"$project", {"'@projection'"}},
      {"$addFields", {"{'@field': '@expression', '@many': {'@name': '@expression'}}"}},
      {"$set", {"{'@field': '@expression'}"}},
      {"$unset", {"'@field'", "['@field', '@field']"}},
      {"$_internalUnpackBucket",
       {"{timeField: 't', 'metaField?': 'm', bucketMaxSpanSeconds: 3600, 'exclude?': ['v']}",
        "{timeField: 't', bucketMaxSpanSeconds: 3600, include: ['t']}"}},
      {"$unwind", {"'@dollar'", "{path: '@dollar', 'includeArrayIndex?': 'i', 'preserveNullAndEmptyArrays?': '@truth'}"}},
      {"$group",
       {"{_id: '@expression', '@many': {'@name': '@accumulator'}}", "{_id: '@dollar', n: '@accumulator', m: '@accumulator'}",
        "{_id: null, n: '@accumulator'}"}},
      {"$sort", {"'@sort'"}},
      {"$limit", {"'@count'"}},
      {"$geoNear",
       {"{near: {type: 'Point', coordinates: [1, 2]}, distanceField: 'x.d', key: 'o', 'maxDistance?': 10, 'includeLocs?': "
        "'x.l'}"}},
      {"$skip", {"'@small'"}},
      {"$sample", {"{size: '@count'}"}},
      {"$count", {"'@name'"}},
      {"$sortByCount", {"'@dollar'", "'@object'"}},
      {"$replaceRoot", {"{newRoot: '@object'}"}},
      {"$replaceWith", {"'@object'"}},
      {"$redact", {"{$cond: ['@bool', '$$DESCEND', '$$PRUNE']}", "{$cond: ['@bool', '$$KEEP', '$$DESCEND']}"}},
      {"$bucket",
       {"{groupBy: '@dollar', boundaries: [-1, 1, 2, 6], 'default?': '@constant', 'output?': {n: '@accumulator'}}",
        "{groupBy: '@number', boundaries: ['@n', '@n'], default: 'other'}"}},
      {"$bucketAuto", {"{groupBy: '@expression', buckets: '@count', 'output?': {n: '@accumulator'}, 'granularity?': 'R5'}"}},
      {"$facet", {"{a: ['@stage', {'@many': '@stage'}], 'b?': ['@stage']}"}},
      {"$lookup",
       {"{from: '@collection', localField: '@field', foreignField: '@field', as: '@field', 'pipeline?': ['@stage']}",
        "{from: '@collection', 'let?': {v: '@expression'}, pipeline: ['@stage', {'@many': '@stage'}], as: 'r'}"}},
      {"$graphLookup",
       {"{from: '@collection', startWith: '@expression', connectFromField: '@field', connectToField: '@field', as: 'g', "
        "'maxDepth?': '@small', 'depthField?': 'n', 'restrictSearchWithMatch?': '@filter'}"}},
      {"$unionWith", {"'@collection'", "{coll: '@collection', 'pipeline?': ['@stage']}"}},
      {"$setWindowFields",
       {"{'partitionBy?': '@expression', 'sortBy?': '@sort', output: {'@name': '@windowed', '@many': {'@name': "
        "'@windowed'}}}",
        "{sortBy: {'@field': '@order'}, output: {w: '@windowed'}}"}},
      {"$densify",
       {"{field: '@field', 'partitionByFields?': ['@field'], range: {step: '@count', bounds: 'full'}}",
        "{field: '@field', range: {step: '@n', bounds: ['@small', 10]}}",
        "{field: 'd', range: {step: '@count', unit: '@unit', bounds: 'partition'}, partitionByFields: ['s']}"}},
      {"$fill",
       {"{'sortBy?': '@sort', 'partitionBy?': '@expression', output: {'@name': {value: '@expression'}}}",
        "{sortBy: {'@field': '@order'}, output: {'@name': {method: 'linear'}, x: {method: 'locf'}}}"}},
      {"$documents", {"[{a: 1}]", "['@document', {'@many': '@object'}]"}},
      {"$out", {"'out'", "{db: 'test', coll: 'out'}"}},
      {"$merge",
       {"{into: 'out'}", "{into: 'out', 'whenMatched?': 'merge', 'whenNotMatched?': 'discard'}",
        "{into: 'd', on: '_id', whenMatched: ['@update_stage']}", "{into: 'out', whenMatched: 'keepExisting'}"}},
      {"$collStats", {"{'count?': {}, 'storageStats?': {}, 'latencyStats?': {histograms: true}}"}},
      {"$indexStats", {"{}"}},
      {"$planCacheStats", {"{}"}},
      {"$currentOp", {"{'allUsers?': true, 'idleSessions?': '@truth'}"}},
      {"$listLocalSessions", {"{}", "{allUsers: true}"}},
      {"$listSessions", {"{}", "{allUsers: true}"}},
      {"$changeStream", {"{'fullDocument?': 'updateLookup'}"}},
      {"$history", {"{_id: '@small'}", "{}"}},
      {"$diff", {"{from: 'main', to: 'dev'}"}},
      {"$acrossBranches", {"{}", "{branches: ['main', 'dev']}"}},
      {"$acrossSnapshots", {"{}"}},
  };
  return shapes;
}

void add_stages(Grammar& grammar) {
  grammar.add("collection", {"'c'", "'d'", "'empty'"});
  grammar.add("accumulator", {"{$sum: 1}",
                              "{$sum: '@number'}",
                              "{$avg: '@expression'}",
                              "{$min: '@expression'}",
                              "{$max: '@expression'}",
                              "{$first: '@expression'}",
                              "{$last: '@expression'}",
                              "{$push: '@expression'}",
                              "{$addToSet: '@expression'}",
                              "{$stdDevPop: '@number'}",
                              "{$stdDevSamp: '@number'}",
                              "{$mergeObjects: '@object'}",
                              "{$count: {}}",
                              "{$firstN: {input: '@expression', n: '@count'}}",
                              "{$lastN: {input: '@expression', n: '@count'}}",
                              "{$minN: {input: '@expression', n: '@count'}}",
                              "{$maxN: {input: '@expression', n: '@count'}}",
                              "{$top: {sortBy: '@sort', output: '@expression'}}",
                              "{$bottom: {sortBy: '@sort', output: '@expression'}}",
                              "{$topN: {n: '@count', sortBy: '@sort', output: '@expression'}}",
                              "{$bottomN: {n: '@count', sortBy: '@sort', output: ['@expression']}}",
                              "{$percentile: {input: '@number', p: [0.1, 1], method: 'approximate'}}",
                              "{$median: {input: '@expression', method: 'approximate'}}",
                              "{$accumulator: {init: 'function() { return []; }', accumulate: '(s, v) => s.concat([v])', "
                              "accumulateArgs: ['@expression'], merge: '(a, b) => a.concat(b)', lang: 'js'}}"});
  grammar.add("window", {"{documents: [-1, 0]}", "{documents: ['unbounded', 'current']}", "{documents: ['@small', '@count']}",
                         "{range: [-1, '@count']}", "{range: ['unbounded', 'unbounded']}", "{range: [-1, 1], unit: '@unit'}",
                         "{documents: ['current', 'unbounded']}"});
  grammar.add("windowed", {"{$sum: 1}",
                           "{$sum: '@number', 'window?': '@window'}",
                           "{$avg: '@dollar', 'window?': '@window'}",
                           "{$min: '@expression', 'window?': '@window'}",
                           "{$max: '$a', window: '@window'}",
                           "{$push: '@expression', 'window?': '@window'}",
                           "{$addToSet: '@dollar', 'window?': '@window'}",
                           "{$count: {}, 'window?': '@window'}",
                           "{$first: '@dollar', 'window?': '@window'}",
                           "{$last: '@expression'}",
                           "{$rank: {}}",
                           "{$denseRank: {}}",
                           "{$documentNumber: {}}",
                           "{$shift: {output: '@expression', by: '@small', 'default?': '@constant'}}",
                           "{$derivative: {input: '@number', 'unit?': 'hour'}, window: '@window'}",
                           "{$integral: {input: '@number', 'unit?': 'second'}, 'window?': '@window'}",
                           "{$expMovingAvg: {input: '@number', N: '@count'}}",
                           "{$expMovingAvg: {input: '$a', alpha: 0.5}}",
                           "{$linearFill: '@dollar'}",
                           "{$locf: '@expression'}",
                           "{$stdDevPop: '@number', 'window?': '@window'}",
                           "{$minN: {input: '@expression', n: '@count'}, 'window?': '@window'}",
                           "{$topN: {n: 2, sortBy: '@sort', output: '@expression'}, 'window?': '@window'}",
                           "{$median: {input: '@number', method: 'approximate'}, 'window?': '@window'}"});
  grammar.add("stage", {"{$match: {a: 1}}"});
  for (const std::string_view entry : query::stage_names()) {
    const std::string name(entry), rule = rule_of("stage", name);
    const auto shape = stage_shapes().find(name);
    static const Alternatives plain = {"{}", "'@expression'", "'@name'", "'@count'", "{'@name': '@expression'}"};
    for (const std::string& argument : shape != stage_shapes().end() ? shape->second : plain)
      grammar.add(rule, {"{'" + name + "': " + argument + "}"});
    grammar.add("stage", {"'@" + rule + "'"});
  }
  for (int i = 0; i < 3; ++i)
    grammar.add("stage", {"{$match: '@filter'}", "{$set: {'@field': '@expression'}}", "{$unwind: '@dollar'}"});
  grammar.add("pipeline", {"[]", "['@stage', '@stage', '@stage']", "['@stage', {'@many': '@stage'}, {'@many': '@stage'}]",
                           "['@stage']", "['@stage', '@stage']"});
}

// --- commands

void add_commands(Grammar& grammar) {
  grammar.add("index_key", {"{a: 1}", "'@sort'", "{'@field': 'hashed'}", "{'b.c': 1, '@field': -1}"});
  grammar.add("statement_options", {"{}", "{'hint?': '@sort', 'collation?': {locale: 'simple'}}"});
  grammar.add("find",
              {"{find: 'c', filter: '@filter', 'projection?': '@projection', 'sort?': '@sort', 'skip?': '@count', 'limit?': "
               "'@small', 'batchSize?': '@small', 'singleBatch?': '@truth', 'returnKey?': '@truth', 'showRecordId?': "
               "'@truth', 'let?': {v: '@constant'}, 'hint?': '@index_key', 'allowDiskUse?': '@truth'}",
               "{find: '@collection', filter: '@filter', 'sort?': '@sort', 'min?': {a: '@n'}, 'max?': {a: '@n'}, 'hint?': {a: "
               "1}}"});
  grammar.add("aggregate", {"{aggregate: 'c', pipeline: '@pipeline', cursor: {}}",
                            "{aggregate: '@collection', pipeline: '@pipeline', cursor: {'batchSize?': '@small'}, 'let?': {v: "
                            "'@expression'}, 'allowDiskUse?': '@truth', 'hint?': '@index_key'}",
                            "{aggregate: 1, pipeline: ['@stage', {'@many': '@stage'}], cursor: {}}"});
  grammar.add(
      "write",
      {"{insert: '@collection', documents: ['@document', {'@many': '@document'}], 'ordered?': '@truth'}",
       "{insert: '@collection', documents: ['@object', '@fields']}",
       "{update: '@collection', updates: [{q: '@filter', u: '@update', 'multi?': '@truth', 'upsert?': '@truth', "
       "'arrayFilters?': '@array_filters', 'c?': {v: '@constant'}}], 'let?': {v: '@constant'}}",
       "{update: 'c', updates: [{q: {_id: '@small'}, u: '@update', 'upsert?': '@truth'}, {q: '@filter', u: '@modifier'}]}",
       "{delete: '@collection', deletes: [{q: '@filter', limit: 0}, {'@many': {q: '@filter', limit: 1}}]}",
       "{findAndModify: '@collection', query: '@filter', update: '@update', 'new?': '@truth', 'sort?': '@sort', "
       "'upsert?': '@truth', 'fields?': '@projection', 'arrayFilters?': '@array_filters'}",
       "{findAndModify: '@collection', query: '@filter', remove: true, 'sort?': '@sort', 'fields?': '@projection'}",
       "{bulkWrite: 1, ops: [{insert: 0, document: '@document'}, {update: 0, filter: '@filter', updateMods: '@update', "
       "'multi?': '@truth'}, {delete: 0, filter: '@filter'}], nsInfo: [{ns: 'test.c'}]}"});
  grammar.add("schema",
              {"{createIndexes: '@collection', indexes: [{key: '@index_key', name: '@name', 'unique?': '@truth', 'sparse?': "
               "'@truth', 'partialFilterExpression?': '@filter', 'expireAfterSeconds?': '@count'}]}",
               "{dropIndexes: '@collection', index: '@name'}", "{dropIndexes: '@collection', index: '*'}",
               "{create: 'e', 'capped?': true, 'size?': 4096, 'max?': '@count'}",
               "{create: 'w', viewOn: '@collection', pipeline: '@pipeline'}", "{drop: 'out'}", "{drop: 'w'}",
               "{collMod: '@collection', index: {name: '@name', hidden: '@truth'}}", "{listIndexes: '@collection'}",
               "{listCollections: 1, filter: '@filter', 'nameOnly?': '@truth'}", "{convertToCapped: 'd', size: 100000}"});
  grammar.add(
      "other",
      {"{count: '@collection', query: '@filter', 'skip?': '@count', 'limit?': '@small', 'hint?': '@index_key'}",
       "{distinct: '@collection', key: '@field', query: '@filter'}", "{explain: '@find', verbosity: 'executionStats'}",
       "{explain: '@aggregate', verbosity: 'queryPlanner'}", "{explain: '@write', 'verbosity?': 'allPlansExecution'}",
       "{find: 'w', filter: '@filter'}", "{validate: '@collection', 'full?': '@truth'}", "{dbStats: 1, 'scale?': '@count'}",
       "{collStats: '@collection', 'scale?': '@n'}", "{planCacheClear: '@collection', 'query?': '@filter', 'sort?': '@sort'}",
       "{planCacheSetFilter: '@collection', query: '@filter', indexes: ['@index_key']}", "{planCacheClearFilters: '@collection'}",
       "{getMore: '@n', collection: '@collection', 'batchSize?': '@count'}", "{killCursors: '@collection', cursors: ['@n']}"});
  grammar.add("command", {"{ping: 1}", "'@find'", "'@find'", "'@aggregate'", "'@aggregate'", "'@write'", "'@write'", "'@write'",
                          "'@schema'", "'@other'"});
  grammar.add("commands",
              {"[]", "['@command', '@command']", "['@write', '@find', '@aggregate']", "['@command', '@command', '@command']",
               "['@write', '@command', '@command']", "['@schema', '@write', '@command', '@command']",
               "['@write', '@schema', '@find', '@write', '@command']"});
}

}  // namespace

std::string rule_of(const std::string& kind, std::string_view name) {
  return kind + " " + std::string(name);
}

const Grammar& query_grammar() {
  static const Grammar all = [] {
    Grammar grammar;
    add_values(grammar);
    add_expressions(grammar);
    add_operators(grammar);
    add_filters(grammar);
    add_updates(grammar);
    add_stages(grammar);
    add_commands(grammar);
    return grammar;
  }();
  return all;
}

bool is_random(const bson::ValueView& made) {
  for (const std::string_view name : {"$rand", "$sample", "$sampleRate"}) {
    if (made.bytes().find(name) != base::BytesView::npos) return true;
  }
  return false;
}

void check_made(bool holds, std::string_view what, std::initializer_list<bson::ValueView> made) {
  if (holds) return;
  for (const bson::ValueView& one : made)
    std::fprintf(stderr, "%s\n", one.exists() ? bson::to_json(one, bson::JsonMode::canonical).c_str() : "missing");
  base::check(false, what);
}

std::vector<base::Bytes> random_choices(uint64_t seed, size_t inputs, size_t bytes) {
  base::Random random(seed);
  std::vector<base::Bytes> all(inputs);
  for (base::Bytes& input : all) {
    input.resize(bytes);
    for (char& byte : input) byte = static_cast<char>(random());
  }
  return all;
}

std::vector<base::Bytes> accepted_choices(uint64_t seed, size_t inputs, size_t bytes, bool (*run)(base::BytesView input)) {
  constexpr size_t dozen = 12;
  std::vector<base::Bytes> all = random_choices(seed, inputs, bytes);
  std::erase_if(all, [run](const base::Bytes& input) { return !run(input); });
  all.resize(std::min(all.size(), dozen));
  return all;
}

}  // namespace server::testing
