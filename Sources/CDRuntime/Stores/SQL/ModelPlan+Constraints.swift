// What statements about unique constraints are made of.
extension EntityPlan {
  /// The columns of some properties.
  func columnNames(of properties: [String]) -> [String] {
    properties.flatMap { key in slot(key).map { slot in slot.columns.map { columns[$0].name } } ?? [] }
  }
}

extension ModelPlan {
  /// The condition that a row is of an entity or of those below it; none where all rows of its table are.
  func isPart(_ entity: EntityPlan, _ alias: String = "") -> [String] {
    guard entity.root != entity.index else { return [] }
    let names = entity.subtree.map { SQLite.literal(entities[$0].name) }
    return ["\(alias)_entity IN (\(names.joined(separator: ", ")))"]
  }

  /// The constraint that a unique index keeps, by the index's name.
  func uniqueConstraint(ofIndex index: String) -> (entity: EntityPlan, properties: [String])? {
    for entity in entities {
      for constraint in entity.description.uniquenessConstraints
      where index == "\(entity.name).unique.\(constraint.joined(separator: "."))" {
        return (entity, constraint)
      }
    }
    return nil
  }
}
