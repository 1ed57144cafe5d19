import CDModel

/// A table that `CDPostgresStore` creates for a model. A test compares these tables with those of the store engine.
struct ServerTable {
  /// The values that a column can have, for the space that they take.
  enum Content {
    /// A number of eight bytes.
    case number
    case bool
    case uuid
    /// A text, bytes or a decimal, whose length depends on the value.
    case varying
  }

  struct Column {
    let name: String
    /// The property or the field that the column is for; nil for a column of the runtime.
    let element: ModelElement?
    let content: Content
    /// The entities whose rows may have a value in the column; nil for all entities of the table.
    var entities: Set<String>?
    /// Whether each row of these entities has a value.
    let isMandatory: Bool
  }

  let name: String
  /// The root entity or the relationship that the table is for.
  let element: ModelElement
  private(set) var columns: [Column]

  /// The tables of a version, in the order of their creation.
  static func all(of graph: EntityGraph) -> [ServerTable] {
    let names = ColumnNames(graph)
    let roots = graph.entitiesParentsFirst.filter { graph.parent(of: $0.name) == nil }
    return roots.map { table(of: $0, graph, names) } + joins(graph)
  }

  // MARK: Entities

  private static func table(
    of root: EntityDescription, _ graph: EntityGraph, _ names: ColumnNames
  ) -> ServerTable {
    let kinds = [root] + graph.descendants(of: root.name)
    var columns = [system("_pk", .number), system("_version", .number)]
    if kinds.count > 1 { columns.append(system("_entity", .varying)) }
    var indices: [String: Int] = [:]
    for kind in kinds {
      for column in graph.columns(of: kind.name) {
        let name = names.name(of: column, root: root.name)
        if let index = indices[name] {
          columns[index].entities?.insert(kind.name)
          continue
        }
        indices[name] = columns.count
        columns.append(
          Column(
            name: name, element: element(of: column), content: content(of: column, graph),
            entities: [kind.name], isMandatory: isMandatory(column)))
      }
    }
    columns += positions(in: root, graph, names)
    return ServerTable(name: root.name, element: .entity(root.name), columns: columns)
  }

  private static func system(_ name: String, _ content: Content) -> Column {
    Column(name: name, element: nil, content: content, entities: nil, isMandatory: true)
  }

  private static func element(of column: StoredColumn) -> ModelElement {
    switch column.kind {
    case .reference: .relationship(entity: column.entity, name: column.property.name)
    case .attribute, .field: .attribute(entity: column.entity, name: column.property.name)
    }
  }

  private static func isMandatory(_ column: StoredColumn) -> Bool {
    switch column.property {
    case .attribute(let attribute):
      !attribute.isOptional && attribute.derivation == nil && column.field?.isOptional != true
    case .relationship(let relationship): !relationship.isOptional
    case .fetched: false
    }
  }

  private static func content(of column: StoredColumn, _ graph: EntityGraph) -> Content {
    guard let type = column.type else { return .number }
    switch type {
    case .bool: return .bool
    case .uuid: return .uuid
    case .decimal, .codable: return .varying
    case .enumeration(let name): return graph.enumeration(name)?.rawType == .string ? .varying : .number
    default:
      switch type.traits?.storageClass {
      case .integer, .real: return .number
      default: return .varying
      }
    }
  }

  /// The columns for the orders of to-many relationships whose references are in the table.
  private static func positions(
    in root: EntityDescription, _ graph: EntityGraph, _ names: ColumnNames
  ) -> [Column] {
    var columns: [Column] = []
    for owner in graph.entitiesParentsFirst {
      for relationship in owner.relationships where relationship.isOrdered {
        guard let inverse = graph.inverse(of: relationship, in: owner.name), !inverse.isToMany,
          graph.root(of: relationship.destination)?.name == root.name,
          let reference = graph.columns(of: relationship.destination).first(where: {
            $0.kind == .reference && $0.property.name == inverse.name
          })
        else { continue }
        let name = names.name(of: reference, root: root.name) + ".position"
        if columns.contains(where: { $0.name == name }) { continue }
        let members = [relationship.destination] + graph.descendants(of: relationship.destination).map(\.name)
        columns.append(
          Column(
            name: name, element: .relationship(entity: owner.name, name: relationship.name), content: .number,
            entities: Set(members), isMandatory: false))
      }
    }
    return columns
  }

  // MARK: Relationships

  private static func joins(_ graph: EntityGraph) -> [ServerTable] {
    var tables: [ServerTable] = []
    var known: Set<String> = []
    for owner in graph.entitiesParentsFirst {
      for relationship in owner.relationships where relationship.isToMany {
        let inverse = graph.inverse(of: relationship, in: owner.name)
        if let inverse, !inverse.isToMany { continue }
        let own = "\(owner.name).\(relationship.name)"
        var name = own
        if let inverse {
          let entity = graph.declaringEntity(of: inverse.name, in: relationship.destination)?.name
          let other = "\(entity ?? relationship.destination).\(inverse.name)"
          if other.utf8.lexicographicallyPrecedes(own.utf8) { name = other }
        }
        guard known.insert(name).inserted else { continue }
        let isOrdered = (relationship.isOrdered, inverse?.isOrdered == true)
        let (isForward, isBackward) = name == own ? isOrdered : (isOrdered.1, isOrdered.0)
        var columns = [system("_source", .number), system("_target", .number)]
        if isForward { columns.append(system("_position", .number)) }
        let isOwnInverse = inverse == relationship && relationship.destination == owner.name
        if isBackward, !isOwnInverse { columns.append(system("_inverse_position", .number)) }
        tables.append(
          ServerTable(
            name: name, element: .relationship(entity: owner.name, name: relationship.name), columns: columns)
        )
      }
    }
    return tables
  }

  // MARK: Rows

  /// The number of bytes that a row of an entity takes, without values that are large enough to be kept elsewhere.
  ///
  /// - Parameter isFull: Whether each column has a value that is just too small to be kept elsewhere; if not, only the
  ///   mandatory columns have values, and these are the smallest ones.
  func rowBytes(of entity: String, isFull: Bool) -> Int {
    func aligned(_ bytes: Int) -> Int { (bytes + 7) / 8 * 8 }
    let present = columns.filter { column in
      column.entities?.contains(entity) != false && (isFull || column.isMandatory)
    }
    // The header has a bit for each column, unless all have values.
    var bytes = aligned(23 + (present.count < columns.count ? (columns.count + 7) / 8 : 0))
    for column in present {
      switch column.content {
      case .number: bytes = aligned(bytes) + 8
      case .bool: bytes += 1
      case .uuid: bytes += 16
      // A value of up to 24 bytes always stays in the row.
      case .varying: bytes += column.name == "_entity" ? 1 + entity.utf8.count : isFull ? 24 : 1
      }
    }
    return aligned(bytes)
  }
}
