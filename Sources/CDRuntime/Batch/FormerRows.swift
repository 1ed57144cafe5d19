#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What rows had before a batch insert replaced their values.
struct FormerRows {
  /// The objects whose derived attributes read it.
  var readers: [FetchedKey] = []
  /// The objects that references led to and whose side has a rule on how many there may be, by the reference's column.
  var counted: [String: (inverse: RelationshipPlan, owners: Set<ObjectKey>)] = [:]
  /// What the references led to whose other side keeps an order, by column and row; 0 for nothing.
  var references: [String: [ObjectKey: ObjectKey]] = [:]
  /// The names of the files that large values are in, by column and row.
  var files: [String: [ObjectKey: String]] = [:]
}

// Rows that are there already, before and after a batch insert gives them other values.
extension BatchRun {
  /// Whether more than a row itself depends on whether, and from what, a batch insert changes it.
  func dependsOnReplaced(_ properties: [BatchProperty]) -> Bool {
    let lists = uniqueLists
    guard !lists.isEmpty else { return false }
    // The values may be those of a row that is of another entity.
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
    property.slot.attribute?.storesExternally == true && stores.store(of: entity)?.files != nil
  }

  /// Adds what rows have that are about to be given values of some properties.
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
        let owners = try counted(behind: relationship, .keys(list))
        former.counted[column, default: (inverse, [])].owners.formUnion(owners)
      }
      if model.positionColumn(of: inverse) != nil {
        // What was noted first is what there was before the batch.
        former.references[column, default: [:]].merge(try rows.references(column, of: entity, list)) {
          old, _ in
          old
        }
      }
    }
    former.readers += try readers(of: keys, Set(properties.map(\.slot.name)))
    former.readers += try touched(by: references, of: keys)
  }

  /// The rows whose references lead elsewhere now. Who stays keeps its place in the other side's order.
  func moved(_ property: BatchProperty, _ former: FormerRows) throws -> [ObjectKey] {
    guard let column = property.columns.first, let before = former.references[column] else { return [] }
    return try rows.references(column, of: entity, Array(before.keys)).filter { before[$0.key] != $0.value }
      .keys.sorted()
  }

  /// Checks and lists what the rows no longer lead to.
  func settle(_ former: FormerRows) throws {
    for (_, counted) in former.counted.sorted(by: { $0.key < $1.key }) {
      try checkCounts(of: counted.inverse, of: counted.owners.sorted())
    }
    for (column, files) in former.files {
      // A file that is still referred to must not be listed.
      for (key, file) in files { try rows.listFile(file, unlessIn: column, of: entity, key, at: now) }
    }
  }
}
