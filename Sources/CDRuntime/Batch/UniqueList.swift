/// A `unique:` list that the rows of a batch insert are under.
struct UniqueList {
  /// The entity that declares it.
  let owner: EntityPlan
  let properties: [String]
  let columns: [String]
}

extension BatchRun {
  /// The lists of the batch's entity and of those above it.
  var uniqueLists: [UniqueList] {
    entity.lineage.map { model.entities[$0] }.flatMap { owner in
      owner.description.uniquenessConstraints.compactMap { properties in
        let columns = properties.flatMap(entity.columnNumbers).map { entity.columns[$0].name }
        return columns.isEmpty ? nil : UniqueList(owner: owner, properties: properties, columns: columns)
      }
    }
  }
}
