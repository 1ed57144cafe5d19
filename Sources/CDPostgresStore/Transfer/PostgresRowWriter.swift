import CDModel
@_spi(Generated) import CDRuntime

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Copies the rows of another store into new tables of a schema.
struct PostgresRowWriter {
  /// A connection with an open transaction.
  let connection: PostgresConnection
  /// The schema that has the tables.
  let schema: String

  /// The number of bytes that are sent together.
  private static let partSize = 256 << 10

  /// A value that no column of PostgreSQL can have.
  struct Unstorable: Error {
    let entity: String
    let property: String
    let key: ObjectKey?
    let reason: String
  }

  /// The table and the columns that receive the rows of an entity or of a relationship's pairs.
  struct Table {
    let name: String
    let columns: [String]
    /// The value of the last column, which is the same in all rows; nil if there is none.
    let entity: AttributeValue?

    /// Nil for tables of the runtime.
    init?(_ part: StoreTables.Part) {
      let names = part.table.columns.map(\.name)
      switch part.content {
      case .objects(let plan):
        name = plan.table
        entity = plan.hasEntityColumn ? .string(plan.name) : nil
        columns = ["_pk", "_version"] + names.dropFirst(2) + (plan.hasEntityColumn ? ["_entity"] : [])
      case .pairs(let join):
        name = join.table
        columns = names
        entity = nil
      case .keys, .history: return nil
      }
    }

    func copy(schema: String) -> String { PostgresRowWriter.copy(to: name, columns, schema: schema) }
  }

  private static func copy(to name: String, _ columns: [String], schema: String) -> String {
    let list = columns.map(SQLText.quoted).joined(separator: ", ")
    return "COPY \(PostgresTables.systemTable(name, schema: schema)) (\(list)) FROM STDIN (FORMAT binary)"
  }

  /// Copies the objects and the pairs of relationships.
  func copyObjects(of contents: StoreContents, _ parts: [StoreTables.Part]) throws {
    for (part, table) in zip(parts, contents.tables) {
      guard let target = Table(part) else { continue }
      try copy(table, of: contents, to: target.name, target.columns) { target.entity.map { [$0] } ?? [] }
    }
  }

  /// Copies the history. Each save gets an identifier, which other engines do not have.
  func copyHistory(of contents: StoreContents, _ parts: [StoreTables.Part]) throws {
    for (part, table) in zip(parts, contents.tables) {
      guard case .history = part.content else { continue }
      try copy(
        table, of: contents, to: "_cdgen_history", ["id", "time", "origin", "author", "changes", "save"]
      ) { [.uuid(UUID.random())] }
    }
  }

  /// The next key of each root entity, and of the history if it is given.
  func keys(of contents: StoreContents, _ parts: [StoreTables.Part]) throws -> [String: Int64] {
    var result: [String: Int64] = [:]
    for (part, table) in zip(parts, contents.tables) {
      guard case .keys = part.content else { continue }
      try contents.forEachRow(of: table) { row in
        guard case .text(let name) = row[0], case .integer(let next) = row[1] else { return }
        result[name == StoreBuilder.historyKey ? PostgresTables.historyKey : name] = next
      }
    }
    return result
  }

  // MARK: Rows

  /// - Parameter rest: Returns the values of the last columns, which the table of the other store does not have.
  private func copy(
    _ table: StoreTable, of contents: StoreContents, to name: String, _ columns: [String],
    rest: () -> [AttributeValue]
  ) throws {
    try connection.copy(Self.copy(to: name, columns, schema: schema)) { send in
      var bytes = PostgresBytes()
      bytes.appendCopyHeader()
      try contents.forEachRow(of: table) { row in
        bytes.append(Int16(clamping: columns.count))
        for (value, column) in zip(row, table.columns) {
          guard let field = try Self.field(value, column.type) else {
            var key: ObjectKey?
            if table.kind == .objects, case .integer(let number) = row[0] { key = number }
            throw Unstorable(
              entity: table.name, property: column.name, key: key,
              reason: "a text with the character U+0000 cannot be stored by PostgreSQL")
          }
          bytes.appendField(field)
        }
        for value in rest() { bytes.appendField(value) }
        if bytes.count >= Self.partSize {
          try send(bytes)
          bytes.removeAll()
        }
      }
      try send(bytes)
    }
  }

  /// The value of a column; nil for a text that PostgreSQL does not accept.
  private static func field(_ value: StoreValue, _ type: StoreColumn.ValueType) throws -> AttributeValue? {
    switch (value, type) {
    case (.null, _): return .null
    case (.integer(let number), .bool): return .bool(number != 0)
    case (.integer(let number), .real), (.integer(let number), .date): return .double(Double(number))
    case (.integer(let number), _): return .int(number)
    case (.real(let number), _): return .double(number)
    case (.text(let text), .decimal): return DecimalText.decode(" " + text).map { .decimal($0) }
    case (.text(let text), _): return text.utf8.contains(0) ? nil : .string(text)
    // The 16 bytes of a UUID are its binary form.
    case (.bytes(let data), _): return .data(data)
    }
  }
}
