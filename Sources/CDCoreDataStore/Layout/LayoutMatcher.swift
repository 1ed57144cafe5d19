import CDModel
import CDRuntime
import CDXcodeNames

/// Finds the tables and columns of a version in a store, and lists what is missing or unexpected.
struct LayoutMatcher {
  let database: SourceDatabase
  let entities: StoredEntities
  let usage: ColumnUsage
  var schema: SourceSchema
  var layout: StoreLayout
  /// The reasons why the version does not fit the store.
  var differences: [String] = []
  /// The tables and columns that the version uses, in capitals: `TABLE` or `TABLE.COLUMN`.
  var used: Set<String> = []

  init(
    _ version: ModelVersion, _ source: CoreDataSource
  ) {
    database = source.database
    schema = source.schema
    entities = source.entities
    usage = source.usage
    layout = StoreLayout(EntityGraph(version))
  }

  /// The entities of the version that the store has, in the order of their numbers.
  var present: [EntityDescription] {
    layout.version.entities.filter { layout.numbers[$0.name] != nil }
      .sorted { layout.numbers[$0.name] ?? 0 < layout.numbers[$1.name] ?? 0 }
  }

  mutating func match() throws(CoreDataStoreError) {
    matchEntities()
    guard differences.isEmpty else { return }
    for root in layout.roots.sorted() { try matchTable(of: root) }
    guard differences.isEmpty else { return }
    for entity in present {
      for relationship in entity.relationships where relationship.isToMany {
        try matchToMany(relationship, of: entity)
      }
    }
    try checkLeftovers()
  }

  // MARK: Entities

  private mutating func matchEntities() {
    let found = Set(entities.ofModel.map(\.name))
    let all = layout.version.entities
    var held = Set(all.map(\.name))
    if found != Set(all.map(XcodeName.of)) {
      // A store of a configuration has only the entities of that configuration.
      let configuration = layout.version.configurations.first { configuration in
        Set(all.filter { configuration.entities.contains($0.name) }.map(XcodeName.of)) == found
      }
      guard let configuration else {
        let wanted = Set(all.map(XcodeName.of))
        differences += wanted.subtracting(found).sorted().map { "the store has no entity '\($0)'" }
        differences += found.subtracting(wanted).sorted().map { "the version has no entity '\($0)'" }
        return
      }
      held = Set(configuration.entities)
    }
    for entity in all where held.contains(entity.name) {
      guard let stored = entities[XcodeName.of(entity)] else { continue }
      layout.numbers[entity.name] = stored.number
      if entities.isAlone(stored.number) { layout.alone.insert(entity.name) }
      let parent = stored.parent.flatMap { entities.name(of: $0) }
      let expected = layout.graph.parent(of: entity.name).map(XcodeName.of)
      if parent != expected {
        differences.append(
          "'\(stored.name)' inherits from \(parent.map { "'\($0)'" } ?? "nothing") in the store, and from "
            + "\(expected.map { "'\($0)'" } ?? "nothing") in the version")
      }
      if let root = layout.graph.root(of: entity.name) { layout.roots.insert(root.name) }
    }
  }

  // MARK: Tables

  private mutating func matchTable(of root: String) throws(CoreDataStoreError) {
    guard let description = layout.graph.entity(root) else { return }
    let table = "Z" + XcodeName.of(description).uppercased()
    guard schema.has(table) else {
      differences.append("the store has no table \(table) for '\(root)'")
      return
    }
    try schema.require(["Z_PK", "Z_ENT", "Z_OPT"], in: table, key: "Z_PK")
    layout.tables[root] = schema.name(of: table)
    used.insert(table)
    for column in ["Z_PK", "Z_ENT", "Z_OPT"] { used.insert("\(table).\(column)") }
    let members = present.filter { layout.graph.root(of: $0.name)?.name == root }
    let columns = try schema.columns(of: table)
    try assign(wanted(members, in: columns), of: table, columns)
  }

  /// A property that needs a column.
  private struct Wanted {
    var property: StoreLayout.Property
    /// The name of the property in messages.
    var title: String
    var types: Set<String>
    var ordersInverse = false
    var defaultValue: DefaultValue?

    /// Whether a column's value is the default. SQLite keeps Dates and Decimals as numbers, and whole ones as integers.
    func isDefault(_ value: StoreValue) -> Bool {
      guard case .value(let given)? = defaultValue, let own = StoreValue(storing: given) else { return false }
      var isDecimal = false
      if case .decimal = given { isDecimal = true }
      return switch (value, own) {
      case (.integer(let number), .real(let own)): Double(number) == own
      case (.integer(let number), .text(let own)): isDecimal && String(number) == own
      case (.real(let number), .text(let own)): isDecimal && Double(own) == number
      default: value == own
      }
    }
  }

  /// The properties that need columns, grouped by the column name that Core Data gives to the first of them, in the
  /// order of the entities' numbers.
  private func wanted(
    _ members: [EntityDescription], in columns: [String: SourceSchema.Column]
  ) -> [(name: String, all: [Wanted])] {
    var names: [String] = []
    var groups: [String: [Wanted]] = [:]
    func add(_ name: String, _ wanted: Wanted) {
      if groups[name] == nil { names.append(name) }
      groups[name, default: []].append(wanted)
    }
    for entity in members {
      for attribute in entity.attributes where attribute.isStored {
        let stored = XcodeName.of(attribute).uppercased()
        if case .composite(let name) = attribute.type {
          for field in layout.graph.composite(name)?.fields ?? [] {
            let last = XcodeName.of(field, of: name, in: layout.version).uppercased()
            let candidates = ["Z\(stored)_\(last)", "Z\(stored)\(last)", "Z\(last)"]
            add(
              candidates.first { columns[$0] != nil } ?? candidates[0],
              Wanted(
                property: .init(entity: entity.name, name: attribute.name, field: field.name),
                title: "'\(attribute.name).\(field.name)' of '\(entity.name)'",
                types: ColumnTypes.expected(field.type, layout.graph), defaultValue: field.defaultValue))
          }
        } else {
          add(
            "Z" + stored,
            Wanted(
              property: .init(entity: entity.name, name: attribute.name),
              title: "'\(attribute.name)' of '\(entity.name)'",
              types: ColumnTypes.expected(attribute.type, layout.graph),
              defaultValue: attribute.defaultValue))
        }
      }
      for relationship in entity.relationships
      where !relationship.isToMany && !XcodeName.isTransient(relationship) {
        let inverse = layout.graph.inverse(of: relationship, in: entity.name)
        add(
          "Z" + XcodeName.of(relationship).uppercased(),
          Wanted(
            property: .init(entity: entity.name, name: relationship.name),
            title: "'\(relationship.name)' of '\(entity.name)'", types: ["INTEGER"],
            ordersInverse: inverse.map { $0.isToMany && $0.isOrdered } ?? false))
      }
    }
    return names.map { ($0, groups[$0] ?? []) }
  }

  private mutating func assign(
    _ groups: [(name: String, all: [Wanted])], of table: String, _ columns: [String: SourceSchema.Column]
  ) throws(CoreDataStoreError) {
    for (name, group) in groups {
      let free = ([name] + group.indices.dropFirst().map { name + String($0) })
        .filter { columns[$0] != nil && !used.contains("\(table).\($0)") }
      for (wanted, column) in try settled(group, free, of: table, columns) {
        guard let column, let found = columns[column] else {
          differences.append("\(table) has no column \(name) for \(wanted.title)")
          continue
        }
        take(found, for: wanted, of: table, columns)
      }
    }
  }

  private mutating func take(
    _ column: SourceSchema.Column, for wanted: Wanted, of table: String,
    _ columns: [String: SourceSchema.Column]
  ) {
    let name = column.name.uppercased()
    used.insert("\(table).\(name)")
    layout.columns[wanted.property] = column.name
    if !wanted.types.isEmpty, !wanted.types.contains(ColumnTypes.family(column.type)) {
      differences.append(
        "\(wanted.title) has the column \(name) of \(table), which is of type \(column.type)")
    }
    guard wanted.ordersInverse else { return }
    let position = "Z_FOK_" + name.dropFirst()
    if let found = columns[position] {
      used.insert("\(table).\(position)")
      layout.positions[wanted.property] = found.name
    } else {
      differences.append(
        "\(table) has no column \(position) for the order of \(wanted.title)")
    }
  }

  /// Assigns columns to several properties of the same name, which belong to unrelated entities of one table.
  ///
  /// Core Data numbers the columns in the order of the entities, but a migration in place adds later columns at the
  /// end. Therefore the columns in which an entity's rows have values decide, and the order decides for the other
  /// properties. A migration may also have given a new column's default to rows of all entities, so properties with a
  /// single possible column are assigned first.
  private mutating func settled(
    _ group: [Wanted], _ free: [String], of table: String, _ columns: [String: SourceSchema.Column]
  ) throws(CoreDataStoreError) -> [(Wanted, String?)] {
    guard group.count > 1 else { return group.map { ($0, free.first) } }
    let evidence = try evidence(for: group, free, of: schema.name(of: table), columns)
    var result = [String?](repeating: nil, count: group.count)
    var left = free
    func take(_ column: String, for place: Int) {
      result[place] = column
      left.removeAll { $0 == column }
    }
    for (place, wanted) in group.enumerated() where evidence[place].count == 1 {
      guard let column = evidence[place].first else { continue }
      if left.contains(column) {
        take(column, for: place)
      } else {
        differences.append("the rows of another entity have values in the column of \(wanted.title)")
      }
    }
    for place in group.indices where result[place] == nil {
      func fits(_ column: String) -> Bool {
        let types = group[place].types
        return types.isEmpty || columns[column].map { types.contains(ColumnTypes.family($0.type)) } == true
      }
      let known = left.first { evidence[place].contains($0) }
      if let column = known ?? left.first(where: fits) ?? left.first { take(column, for: place) }
    }
    return Array(zip(group, result))
  }

  /// The columns in which the rows of each property's entity have values of their own.
  ///
  /// A migration in place gives a new column's default to the rows of all entities. So the default of another property is
  /// no evidence if all rows have it. New rows do not have it. Then the other entity must have values in this column alone.
  private func evidence(
    for group: [Wanted], _ free: [String], of table: String, _ columns: [String: SourceSchema.Column]
  ) throws(CoreDataStoreError) -> [Set<String>] {
    var numbers: [[Int64]] = []
    var all: [Set<String>] = []
    for wanted in group {
      let kinds =
        [wanted.property.entity] + layout.graph.descendants(of: wanted.property.entity).map(\.name)
      let own = kinds.compactMap { layout.numbers[$0] }
      var found: Set<String> = []
      for number in own {
        let counts = try usage.counts(table, columns: columns, entity: number)
        found.formUnion(free.filter { counts[$0] != nil })
      }
      numbers.append(own)
      all.append(found)
    }
    guard group.contains(where: { $0.defaultValue != nil }) else { return all }
    var result = all
    for place in group.indices {
      for name in all[place] {
        guard let column = columns[name],
          let (value, isInAllRows) = try usage.onlyValue(table, column, entities: numbers[place]),
          !group[place].isDefault(value)
        else { continue }
        let isOfAnother = group.indices.contains { other in
          other != place && group[other].isDefault(value) && (isInAllRows || all[other] == [name])
        }
        if isOfAnother { result[place].remove(name) }
      }
    }
    return result
  }
}

/// The column types that Core Data declares.
private enum ColumnTypes {
  /// The column types that fit an attribute; empty if any type does.
  static func expected(_ type: AttributeType, _ graph: EntityGraph) -> Set<String> {
    switch type {
    case .codable: ["BLOB"]
    case .enumeration(let name):
      graph.enumeration(name).map { enumeration in
        if case .enumeration = enumeration.rawType { return [] }
        return expected(enumeration.rawType, graph)
      } ?? []
    default: type.traits.map { [$0.coreDataColumn] } ?? []
    }
  }

  /// The name of a declared type, without its arguments in parentheses.
  static func family(_ type: String) -> String {
    String(type.prefix { $0 != "(" && $0 != " " })
  }
}
