import CDModel
import CDRuntime

/// The views of a store: one for each entity, for people and for programs that make reports.
///
/// Nothing of the runtime reads them, and a store without them is complete. So whatever keeps them from being created is
/// no error: for example a user who may not create any, or another program's table with the name of one.
struct PostgresViews {
  let schema: String
  let views: [View]

  struct View {
    let name: String
    let query: String

    /// The comment of the view on the server. It tells the view from those of other programs, and from one of another
    /// version of the model.
    var comment: String { PostgresViews.mark + PostgresTables.checksum(query) }
  }

  /// The beginning of each view's comment.
  private static let mark = "A view of a cdgen store, "

  /// - Parameter schemas: The schemas of the store. The views are in its own one.
  init(_ model: ModelPlan, store: Int, schemas: StoreSchemas) {
    schema = schemas.own
    let tables = Set(SQLSchema(model, store: store, PostgresDialect()).layouts.map(\.name))
    views = model.entities.filter { $0.storeIndex == store }.compactMap { entity in
      let name = PostgresTables.name(entity.name + "_view")
      // An entity may have this name too.
      return tables.contains(name) ? nil : View(name: name, query: Self.query(entity, model, schemas.tables))
    }
  }

  // MARK: Definitions

  /// The objects of an entity and of its subentities, as a fetch of the entity gives them.
  private static func query(_ entity: EntityPlan, _ model: ModelPlan, _ schema: String) -> String {
    var columns = ["t0._pk"]
    if entity.hasEntityColumn { columns.append("t0._entity") }
    for slot in entity.slots {
      columns += Self.columns(slot, entity, model, schema).map { "\($0.value) AS \(SQLText.quoted($0.name))" }
    }
    let names = entity.subtree.map { SQLText.literal(model.entities[$0].name) }.joined(separator: ", ")
    return "SELECT \(columns.joined(separator: ", ")) "
      + "FROM \(PostgresTables.systemTable(entity.table, schema: schema)) AS t0"
      + (entity.hasEntityColumn ? " WHERE t0._entity IN (\(names))" : "")
  }

  private static func columns(
    _ slot: PropertyPlan, _ entity: EntityPlan, _ model: ModelPlan, _ schema: String
  ) -> [(name: String, value: String)] {
    func column(_ index: Int) -> String { "t0." + SQLText.quoted(entity.columns[index].name) }
    switch slot.kind {
    case .attribute(let attribute, let storageType):
      return slot.columns.first.map { [(slot.name, readable(column($0), attribute, storageType, model))] }
        ?? []
    case .composite(_, let fields):
      return zip(slot.columns, fields).map { index, field in
        (
          "\(slot.name).\(field.description.name)",
          readable(column(index), field.description, field.storageType, model)
        )
      }
    case .relationship(let relationship):
      switch relationship.storage {
      case .reference(let index): return [(slot.name, column(index))]
      case .inverseReference:
        let other = model.entities[relationship.destination]
        guard relationship.isWithinStore, let inverse = relationship.inverseSlot,
          case .reference(let index)? = other.relationships[inverse]?.storage
        else { return [] }
        // A key at most, because of a unique index.
        return [
          (
            slot.name,
            "(SELECT min(t1._pk) FROM \(PostgresTables.systemTable(other.table, schema: schema)) AS t1 "
              + "WHERE t1.\(SQLText.quoted(other.columns[index].name)) = t0._pk)"
          )
        ]
      case .referencesOfOthers, .join: return []
      }
    }
  }

  /// A value in the form that other programs expect.
  private static func readable(
    _ column: String, _ attribute: AttributeDescription, _ storageType: StorageType, _ model: ModelPlan
  ) -> String {
    if case .enumeration(let name) = attribute.type,
      let enumeration = model.version.enums.first(where: { $0.name == name }), enumeration.rawType != .string
    {
      let cases = enumeration.cases.compactMap { each -> String? in
        guard case .int(let number) = each.rawValue else { return nil }
        return "WHEN \(number) THEN \(SQLText.literal(each.name))"
      }
      if cases.isEmpty { return column }
      return "CASE \(column) \(cases.joined(separator: " ")) ELSE CAST(\(column) AS text) END"
    }
    guard storageType == .date else { return column }
    // The seconds from 1970 to 2001, and the first and the last second of a timestamp. A date outside of them is no error.
    let seconds = "\(column) + 978307200"
    return "CASE WHEN \(seconds) < -210866803200 THEN CAST('-infinity' AS timestamptz) "
      + "WHEN \(seconds) >= 9224318016000 THEN CAST('infinity' AS timestamptz) ELSE to_timestamp(\(seconds)) END"
  }

  /// The condition that a relation `c` of the server's catalog is a view of a store.
  static let isOwn =
    "c.relkind = 'v' AND pg_catalog.obj_description(c.oid, 'pg_class') LIKE \(SQLText.literal(mark + "%"))"
}
