#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The former state of rows whose values a batch replaces.
struct FormerRows {
  /// The objects whose derived attributes read the former values.
  var dependents: [FetchedKey] = []
  /// The objects that former references led to, if their side has a rule on the number of objects, by the reference's
  /// column.
  var counted: [String: (inverse: RelationshipPlan, owners: Set<ObjectKey>)] = [:]
  /// The targets of former references whose other side is ordered, by column and row; 0 for nil.
  var references: [String: [ObjectKey: ObjectKey]] = [:]
  /// The names of the files with former large values, by column and row.
  var files: [String: [ObjectKey: String]] = [:]
}

// Existing rows, before and after a batch replaces their values.
extension BatchRun {
  /// Whether a batch insert has to know the former state of the rows that it replaces, because other data depends on
  /// it.
  func dependsOnReplaced(_ properties: [BatchProperty]) -> Bool {
    let lists = uniqueLists
    guard !lists.isEmpty else { return false }
    // The values may belong to a row of another entity.
    if lists.contains(where: { $0.owner.subtree.count > entity.subtree.count }) { return true }
    return properties.contains { property in
      guard case .reference(let relationship) = property.kind else { return hasFiles(property) }
      guard !model.hasDerivedSlots, let inverse = inverse(of: relationship) else {
        return model.hasDerivedSlots
      }
      return Self.hasCountRule(inverse) || model.positionColumn(of: inverse) != nil
    }
  }

  private func hasFiles(_ property: BatchProperty) -> Bool {
    property.slot.mayNameFile && stores.store(of: entity)?.files != nil
  }

  /// Adds the former state of rows whose properties are about to be set.
  func note(_ keys: [FetchedKey], _ properties: [BatchProperty], in former: inout FormerRows) throws {
    guard !keys.isEmpty else { return }
    let list = keys.map(\.key)
    var references: [RelationshipPlan] = []
    for property in properties {
      if hasFiles(property) {
        for column in property.columns {
          former.files[column, default: [:]].merge(try rows.files(column, of: entity, list)) { $1 }
        }
      }
      guard case .reference(let relationship) = property.kind else { continue }
      references.append(relationship)
      guard let inverse = inverse(of: relationship), let column = property.columns.first else { continue }
      if Self.hasCountRule(inverse) {
        let owners = try countedTargets(of: relationship, .keys(list))
        former.counted[column, default: (inverse, [])].owners.formUnion(owners)
      }
      try noteOrder(of: list, property, in: &former)
    }
    former.dependents += try dependents(of: keys, Set(properties.map(\.slot.name)))
    former.dependents += try affected(by: references, of: keys)
  }

  /// Adds the former targets of a reference that is about to be set, if its other side is ordered.
  func noteOrder(of keys: [ObjectKey], _ property: BatchProperty, in former: inout FormerRows) throws {
    guard case .reference(let relationship) = property.kind, let column = property.columns.first,
      let inverse = inverse(of: relationship), model.positionColumn(of: inverse) != nil
    else { return }
    // The first state is the state before the batch.
    former.references[column, default: [:]].merge(try rows.references(column, of: entity, keys)) { old, _ in
      old
    }
  }

  /// Returns the rows whose references have changed. Other rows keep their positions in the order of the other side.
  func moved(_ property: BatchProperty, _ former: FormerRows) throws -> [ObjectKey] {
    guard let column = property.columns.first, let before = former.references[column] else { return [] }
    let now = try rows.references(column, of: entity, Array(before.keys))
    return now.compactMap { $0.value == before[$0.key] ? nil : $0.key }.sorted()
  }

  /// Checks the counts of former owners, and lists the files that rows no longer refer to.
  @_optimize(none)
  func resolveFormerRows(_ former: FormerRows) throws {
    for (_, counted) in former.counted.orderedByKey() {
      try checkCounts(of: counted.inverse, of: Array(counted.owners).sorted())
    }
    for (column, files) in former.files {
      // A file that a row still refers to must not be listed.
      for (key, file) in files { try rows.listFile(file, unlessIn: column, of: entity, key, at: now) }
    }
  }
}
