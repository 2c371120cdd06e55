// IndexOptions are the options of a geospatial index, besides its key.
#pragma once

#include "bson/document.h"

namespace geo {

struct IndexOptions {
  bool sphere = true;  // "2dsphere"; false: "2d"
  // These belong to "2dsphere". A geometry is covered by cells of these levels, of S2's 0 (a sixth of the Earth) to 30 (1 cm).
  int version = 3;
  int coarsest_level = 0;
  int finest_level = 23;
  // These belong to "2d": a grid of 2^bits by 2^bits cells over [min, max] in both directions.
  int bits = 26;
  double min = -180;
  double max = 180;
};

// Reads the options of an index from createIndexes' specification. Throws OperationError for what MongoDB refuses.
IndexOptions parse_index_options(bson::DocumentView spec, bool sphere);

}  // namespace geo
