/// Where the rows of a to-many relationship are, for a statement that selects its objects as `t0`.
struct RelatedSQL {
  /// What is joined; empty for references in the objects' own rows.
  let join: String
  /// The column with the key of the object that has the relationship.
  let owner: String
  /// The terms of ORDER BY that give the relationship's order.
  let order: String
  /// The column with an object's position; nil for a relationship that is not ordered.
  let position: String?

  init(_ relationship: RelationshipPlan, _ model: ModelPlan) {
    switch relationship.storage {
    case .join(let place, let isSource):
      let (own, other) = isSource ? ("_source", "_target") : ("_target", "_source")
      join = " JOIN \(SQLite.quoted(model.joins[place].table)) AS j ON j.\(other) = t0._pk"
      owner = "j.\(own)"
      position = relationship.isOrdered ? (isSource ? "j._position" : "j._inverse_position") : nil
    case .referencesOfOthers, .reference, .inverseReference:
      let column = model.referenceColumn(behind: relationship).map { SQLite.quoted($0.name) } ?? "_pk"
      join = ""
      owner = "t0.\(column)"
      position = model.positionColumn(of: relationship).map { "t0." + SQLite.quoted($0) }
    }
    order = (position.map { $0 + ", " } ?? "") + "t0._pk"
  }
}
