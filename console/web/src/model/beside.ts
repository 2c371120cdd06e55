// `diff` compares branches, tags and commits. A snapshot is compared by a pipeline, collection by collection: both sides' documents are put
// beside each other by their _id.
export const besidePipeline = (before: string, coll: string, change: string): Record<string, unknown>[] => {
  const one = (field: string) => ({ $ne: [`$${field}`, null] });
  const changes: Record<string, unknown[]> = { insert: [{ $eq: ["$before", null] }], delete: [{ $eq: ["$after", null] }], update: [one("before"), one("after")] };
  return [
    { $project: { after: "$$ROOT" } },
    { $unionWith: { db: before, coll, pipeline: [{ $project: { before: "$$ROOT" } }] } },
    { $group: { _id: "$_id", before: { $max: "$before" }, after: { $max: "$after" } } },
    { $match: { $expr: { $and: [{ $ne: ["$before", "$after"] }, ...(changes[change] ?? [])] } } },
    { $sort: { _id: 1 } },
  ];
};

export interface Beside<Document> {
  before: Document | null;
  after: Document | null;
}

export const changeOf = (one: Beside<unknown>): "insert" | "update" | "delete" => (one.before === null ? "insert" : one.after === null ? "delete" : "update");
