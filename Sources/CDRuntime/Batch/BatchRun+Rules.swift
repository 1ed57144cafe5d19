#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// What holds between rows: orders, counts, files.
extension BatchRun {
  /// The relationship at the other side.
  func inverse(of relationship: RelationshipPlan) -> RelationshipPlan? {
    relationship.inverseSlot.flatMap { model.entities[relationship.destination].relationship($0) }
  }

  /// Puts rows that a reference was set of behind those that the other side's ordered relationship has.
  ///
  /// - Parameter moved: Rows that may have a position from before.
  func place(_ relationship: RelationshipPlan, _ selected: RowSelection, moved: [ObjectKey] = []) throws {
    guard let inverse = inverse(of: relationship) else { return }
    try rows.appendPositions(inverse, entity, selected, moved: moved, gap: Positions.gap)
  }

  /// The objects that the references of rows lead to and whose side has a rule on how many there may be.
  func counted(behind relationship: RelationshipPlan, _ selected: RowSelection) throws -> [ObjectKey] {
    guard let inverse = inverse(of: relationship), Self.hasCountRule(inverse),
      case .reference(let column) = relationship.storage,
      let owner = model.entity(relationship.owner)
    else { return [] }
    return try rows.targets(of: owner.columns[column], of: owner, selected)
  }

  func checkCounts(behind relationship: RelationshipPlan, _ selected: RowSelection) throws {
    guard let inverse = inverse(of: relationship) else { return }
    try checkCounts(of: inverse, of: try counted(behind: relationship, selected))
  }

  static func hasCountRule(_ relationship: RelationshipPlan) -> Bool {
    let description = relationship.description
    return !description.isOptional || description.minimumCount != nil || description.maximumCount != nil
  }

  /// Refuses objects that have too few or too many others.
  func checkCounts(of relationship: RelationshipPlan, of keys: [ObjectKey]) throws {
    guard !keys.isEmpty, let owner = model.entity(relationship.owner) else { return }
    let description = relationship.description
    let least = max(description.minimumCount ?? 0, description.isOptional ? 0 : 1)
    let most = description.isToMany ? description.maximumCount ?? Int.max : 1
    let found = try rows.miscounted(
      relationship, of: keys, least...most, most: BatchRowWriter.mostMistakes)
    let mistakes = found.map { key, count in
      BatchMistake(
        entity: owner.name, property: relationship.name,
        reason: relationship.isToMany ? .wrongCount(count) : .missingValue, objectID: id(key, owner))
    }
    if !mistakes.isEmpty { throw BatchError.invalid(mistakes) }
  }

  /// Notes the files that rows refer to, for a later collection.
  func listFiles(_ slots: [PropertyPlan], of entity: EntityPlan, _ selected: RowSelection) throws {
    let columns = slots.filter { $0.attribute?.storesExternally == true }
      .flatMap { $0.columns.map { entity.columns[$0].name } }
    try rows.listFiles(columns, of: entity, selected, at: now)
  }
}
