import CDModel
import CDRuntime
import CDXcodeNames

extension LayoutMatcher {
  /// Finds the join table of a to-many relationship, or the column of a relationship without an inverse.
  mutating func matchToMany(
    _ relationship: RelationshipDescription, of entity: EntityDescription
  ) throws(CoreDataStoreError) {
    guard !XcodeName.isTransient(relationship),
      layout.numbers[relationship.destination] != nil
    else { return }
    let inverse = layout.graph.inverse(of: relationship, in: entity.name)
    // The other side has a column, which is found with its own table.
    if let inverse, !inverse.isToMany { return }
    let key = "\(entity.name).\(relationship.name)"
    if layout.pairs[key] != nil { return }
    if try matchPairs(relationship, inverse, of: entity) { return }
    if inverse == nil, try matchReferences(relationship, of: entity) { return }
    differences.append("the store has no table for the pairs of '\(relationship.name)' of '\(entity.name)'")
  }

  // MARK: Tables of pairs

  private mutating func matchPairs(
    _ relationship: RelationshipDescription, _ inverse: RelationshipDescription?, of entity: EntityDescription
  ) throws(CoreDataStoreError) -> Bool {
    let name = XcodeName.of(relationship).uppercased()
    let otherName = inverse.map { XcodeName.of($0).uppercased() }
    let owner =
      inverse.flatMap { layout.graph.declaringEntity(of: $0.name, in: relationship.destination)?.name }
      ?? relationship.destination
    var tables: [String] = []
    if let number = layout.numbers[entity.name] { tables.append("Z_\(number)\(name)") }
    if let otherName, let number = layout.numbers[owner] { tables.append("Z_\(number)\(otherName)") }
    let isReflexive = inverse == relationship && owner == entity.name
    for table in tables where schema.has(table) && !used.contains(table) {
      let columns = try schema.columns(of: table)
      let keys = columns.keys.filter { !$0.hasPrefix("Z_FOK_") }.sorted()
      guard keys.count == 2 else { continue }
      let target = key(named: name, of: relationship.destination, among: keys)
      guard let target else { continue }
      let source = keys[0] == target ? keys[1] : keys[0]
      let fits =
        otherName.map { key(named: $0, of: inverse?.destination ?? entity.name, among: [source]) != nil }
        ?? true
      guard fits || isReflexive else { continue }
      take(
        table, columns, source: source, target: target, relationship, inverse,
        names: ["\(entity.name).\(relationship.name)", inverse.map { "\(owner).\($0.name)" }])
      return true
    }
    return false
  }

  /// The column with the keys of a relationship's destination. Its name is `Z_`, the number of an entity, the
  /// relationship's name, and digits if the name would otherwise occur twice among the join tables.
  private func key(named name: String, of destination: String, among columns: [String]) -> String? {
    let relatives =
      layout.graph.lineage(of: destination) + layout.graph.descendants(of: destination)
    let numbers = Set(relatives.compactMap { layout.numbers[$0.name] }.map(String.init))
    func rest(_ column: String) -> Substring? {
      guard column.hasPrefix("Z_") else { return nil }
      let number = column.dropFirst(2).prefix { $0.isASCII && $0.isNumber }
      let rest = column.dropFirst(2 + number.count)
      return numbers.contains(String(number)) && rest.hasPrefix(name) ? rest.dropFirst(name.count) : nil
    }
    return columns.first { rest($0)?.isEmpty ?? false }
      ?? columns.first { rest($0)?.allSatisfy { $0.isASCII && $0.isNumber } ?? false }
  }

  private mutating func take(
    _ table: String, _ columns: [String: SourceSchema.Column], source: String, target: String,
    _ relationship: RelationshipDescription, _ inverse: RelationshipDescription?, names: [String?]
  ) {
    used.insert(table)
    for column in [source, target] { used.insert("\(table).\(column)") }
    func position(_ column: String, _ isOrdered: Bool) -> String? {
      guard isOrdered else { return nil }
      let name = "Z_FOK_" + column.dropFirst(2)
      guard let found = columns[name] else {
        differences.append("\(table) has no column \(name) for an order")
        return nil
      }
      used.insert("\(table).\(name)")
      return found.name
    }
    let isReflexive = names[0] == names[1]
    let pairs = StoreLayout.Pairs(
      table: schema.name(of: table), source: columns[source]?.name ?? source,
      target: columns[target]?.name ?? target, position: position(target, relationship.isOrdered),
      inversePosition: isReflexive ? nil : position(source, inverse?.isOrdered ?? false))
    if let name = names[0] { layout.pairs[name] = pairs }
    if let name = names[1], !isReflexive {
      layout.pairs[name] = StoreLayout.Pairs(
        table: pairs.table, source: pairs.target, target: pairs.source, position: pairs.inversePosition,
        inversePosition: pairs.position)
    }
  }

  // MARK: References without an inverse

  /// Finds the column of a to-many relationship without an inverse. It is in the destination's table, and its name
  /// contains the number of the entity that has the relationship.
  private mutating func matchReferences(
    _ relationship: RelationshipDescription, of entity: EntityDescription
  ) throws(CoreDataStoreError) -> Bool {
    guard let number = layout.numbers[entity.name], let table = layout.table(of: relationship.destination)
    else { return false }
    let columns = try schema.columns(of: table)
    let name = XcodeName.of(relationship).uppercased()
    for column in ["Z\(number)\(name)", "Z_\(number)\(name)", "Z\(number)_\(name)"] {
      guard let found = columns[column], !used.contains("\(table.uppercased()).\(column)") else { continue }
      used.insert("\(table.uppercased()).\(column)")
      var position: String?
      for place in ["Z_FOK_\(number)\(name)", "Z_FOK_" + column.dropFirst()] {
        guard relationship.isOrdered, position == nil, let found = columns[place] else { continue }
        used.insert("\(table.uppercased()).\(place)")
        position = found.name
      }
      layout.pairs["\(entity.name).\(relationship.name)"] = StoreLayout.Pairs(
        table: table, source: found.name, target: "Z_PK", position: position)
      return true
    }
    return false
  }

  // MARK: What is left

  private static let system: Set<String> = ["Z_PRIMARYKEY", "Z_METADATA", "Z_MODELCACHE"]
  /// The beginning of the names of spatial indexes' tables. They include SQLite's own tables for the indexes, and hold
  /// no data of their own.
  private static let spatial = "Z_RT_"

  /// Finds tables and columns that the version does not use. If they hold data, they belong to another version.
  mutating func checkLeftovers() throws(CoreDataStoreError) {
    for table in layout.tables.values.sorted() { try checkColumns(of: table) }
    for table in Set(layout.pairs.values.map(\.table)).sorted() where !layout.tables.values.contains(table) {
      try checkColumns(of: table)
    }
    for table in schema.names.sorted()
    where table.hasPrefix("Z") && !table.hasPrefix(Self.spatial) && !used.contains(table)
      && !Self.system.contains(table)
    {
      _ = try schema.columns(of: table)
      let name = SQLText.quoted(schema.name(of: table))
      if try database.rows("SELECT 1 FROM \(name) LIMIT 1", { _ in true }).isEmpty {
        layout.emptyColumns.append(table)
      } else {
        differences.append("the table \(table) belongs to nothing in the version")
      }
    }
  }

  private mutating func checkColumns(of table: String) throws(CoreDataStoreError) {
    let table = table.uppercased()
    for (key, column) in try schema.columns(of: table).sorted(by: { $0.key < $1.key })
    where !used.contains("\(table).\(key)") && !Self.isEntityNumber(key) {
      let name = SQLText.quoted(column.name)
      let rows = try database.rows(
        "SELECT 1 FROM \(SQLText.quoted(schema.name(of: table))) WHERE \(name) IS NOT NULL LIMIT 1"
      ) { _ in true }
      if rows.isEmpty {
        layout.emptyColumns.append("\(table).\(key)")
      } else {
        differences.append("the column \(key) of \(table) belongs to nothing in the version")
      }
    }
  }

  /// Whether a column like `Z10_NAME` names the entity of a to-one relationship's object. The object's own row has the
  /// same information.
  private static func isEntityNumber(_ column: String) -> Bool {
    guard column.hasPrefix("Z") else { return false }
    let digits = column.dropFirst().prefix { $0.isASCII && $0.isNumber }
    return !digits.isEmpty && column.dropFirst(1 + digits.count).hasPrefix("_")
  }
}
