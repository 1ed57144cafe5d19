/// The statements on the positions of a relationship's objects.
struct PositionSQL {
  /// The greatest position of an object's related ones.
  let maximum: String
  /// The related objects that have a position, in their order.
  let others: String
  /// Sets a position: parameters are the position, the object and the related one.
  let update: String
  /// The same for an object that was related just now, of which nobody knows whether it was so before: one that
  /// has a position keeps it.
  let updateNew: String

  /// Nil for a relationship without positions.
  init?(_ relationship: RelationshipPlan, in model: ModelPlan) {
    switch relationship.storage {
    case .join(let place, let isSource):
      let table = SQLite.quoted(model.joins[place].table)
      let (own, other) = isSource ? ("_source", "_target") : ("_target", "_source")
      let position = isSource ? "_position" : "_inverse_position"
      maximum = "SELECT coalesce(max(\(position)), 0) FROM \(table) WHERE \(own) = ?1"
      others =
        "SELECT \(other) FROM \(table) WHERE \(own) = ?1 AND \(position) IS NOT NULL ORDER BY \(position), \(other)"
      update = "UPDATE \(table) SET \(position) = ?1 WHERE \(own) = ?2 AND \(other) = ?3"
      updateNew = update + " AND \(position) IS NULL"
    case .referencesOfOthers:
      guard let column = model.referenceColumn(behind: relationship).map({ SQLite.quoted($0.name) }),
        let position = model.positionColumn(of: relationship).map(SQLite.quoted)
      else { return nil }
      let table = SQLite.quoted(model.entities[relationship.destination].table)
      maximum = "SELECT coalesce(max(\(position)), 0) FROM \(table) WHERE \(column) = ?1"
      others =
        "SELECT _pk FROM \(table) WHERE \(column) = ?1 AND \(position) IS NOT NULL ORDER BY \(position), _pk"
      update = "UPDATE \(table) SET \(position) = ?1 WHERE \(column) = ?2 AND _pk = ?3"
      // Its reference was written just now: a position would be that among the objects of another.
      updateNew = update
    case .reference, .inverseReference: return nil
    }
  }
}
