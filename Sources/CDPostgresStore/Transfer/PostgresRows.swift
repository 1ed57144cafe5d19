import CDModel
import CDRuntime

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The rows of a store on a server, for a copy or a migration. They are read in the connection's transaction, which sees
/// one state.
final class PostgresRows: TableSource {
  /// What to read of the history.
  enum History {
    /// The newest saves, as many as a file keeps.
    case newest
    /// Only the first and the last save, without their changes, because the history itself stays where it is.
    case bounds
  }

  private let connection: PostgresConnection
  private let schemas: StoreSchemas
  private let history: History
  private let url: URL

  /// The size that the rows of one reply should have together.
  private static let replySize = 4 << 20
  private static let mostRows = 5000
  /// How many seconds a reply may take. The rows may have to be sorted.
  private static let replyTimeout: Double = 3600
  private static let cursor = #""_cdgen_rows""#

  /// - Parameter connection: A connection with an open transaction.
  init(_ connection: PostgresConnection, schemas: StoreSchemas, history: History, url: URL) {
    self.connection = connection
    self.schemas = schemas
    self.history = history
    self.url = url
  }

  func metadata() throws -> [String: String] {
    do {
      let table = schemas.table("_cdgen_metadata")
      var entries = PostgresSession.entries(try connection.run(#"SELECT "key", "value" FROM \#(table)"#))
      for key in PostgresTables.ownMetadataKeys { entries[key] = nil }
      return entries
    } catch { throw error.error(of: [url], during: "reading") }
  }

  func forEachRow(of part: StoreTables.Part, _ body: ([StoreValue]) throws -> Void) throws {
    let types = part.table.columns.map(\.type)
    var row = [StoreValue](repeating: .null, count: types.count)
    var count = 100
    try run("DECLARE \(Self.cursor) NO SCROLL CURSOR FOR \(select(part))")
    while true {
      let result = try run("FETCH FORWARD \(count) FROM \(Self.cursor)")
      var size = 0
      for index in 0..<result.rowCount {
        for column in types.indices {
          row[column] = try value(result, index, column, part)
          size += result.size(index, column)
        }
        try body(row)
      }
      if result.rowCount < count { break }
      // Rows can have large values.
      count = min(Self.mostRows, max(1, Self.replySize / max(1, size / count)))
    }
    try run("CLOSE \(Self.cursor)")
  }

  func strangeEntity(in root: EntityPlan, of model: ModelPlan) throws -> String? {
    guard let strange = model.strangeRows(of: root, table: schemas.table(root.table)) else { return nil }
    let result = try run(strange + " LIMIT 1")
    return result.rowCount == 0 ? nil : result.string(0, 1) ?? ""
  }

  @discardableResult private func run(_ text: String) throws -> PostgresResult {
    do throws(PostgresFailure) {
      let statement = PostgresStatement(text, isKept: false)
      guard let result = try connection.run([statement], timeout: Self.replyTimeout).last else {
        throw PostgresFailure.lost("the server did not answer")
      }
      return result
    } catch { throw error.error(of: [url], during: "reading") }
  }

  private func select(_ part: StoreTables.Part) -> String {
    let names = part.table.columns.map(\.name)
    func list(_ names: [String]) -> String { names.map(SQLText.quoted).joined(separator: ", ") }
    func table(_ name: String) -> String { schemas.table(name) }
    switch part.content {
    case .keys:
      let own = SQLText.literal(PostgresTables.historyKey)
      return
        #"SELECT CASE "entity" WHEN \#(own) THEN \#(SQLText.literal(StoreBuilder.historyKey)) ELSE "entity" END, "#
        + #""next" FROM \#(table("_cdgen_keys")) ORDER BY 1"#
    case .objects(let entity):
      return "SELECT \(list(["_pk", "_version"] + names.dropFirst(2))) FROM \(table(entity.table))"
        + (entity.hasEntityColumn ? " WHERE _entity = \(SQLText.literal(entity.name))" : "") + " ORDER BY _pk"
    case .pairs(let join):
      return "SELECT \(list(names)) FROM \(table(join.table)) ORDER BY _source, _target"
    case .history:
      let all = table("_cdgen_history")
      return switch history {
      case .newest:
        #"SELECT * FROM (SELECT "id", "time", "origin", "author", "changes" FROM \#(all) "#
          + #"ORDER BY "id" DESC LIMIT \#(StoreTables.historyLength)) AS h ORDER BY "id""#
      case .bounds:
        #"SELECT "id", "time", "origin", "author", CAST('' AS text) FROM \#(all) "#
          + #"WHERE "id" IN ((SELECT min("id") FROM \#(all)), (SELECT max("id") FROM \#(all))) ORDER BY "id""#
      }
    }
  }

  /// The value of a column in the form that all engines have in common.
  private func value(
    _ result: PostgresResult, _ row: Int, _ column: Int, _ part: StoreTables.Part
  ) throws -> StoreValue {
    if result.isNull(row, column) { return .null }
    let found: StoreValue?
    switch part.table.columns[column].type {
    case .key, .count, .integer, .bool: found = result.optionalInt(row, column).map { .integer($0) }
    case .real, .date: found = result.double(row, column).map { .real($0) }
    case .string, .url, .json: found = result.string(row, column).map { .text($0) }
    case .decimal:
      found = result.decimal(row, column).flatMap { DecimalText.encode($0) }.map {
        .text(String($0[($0.lastIndex(of: " ").map($0.index(after:)) ?? $0.startIndex)...]))
      }
    case .data, .externalData, .uuid: found = .bytes(result.data(row, column))
    }
    guard let found else {
      let key = part.table.kind == .objects ? result.int(row, 0) : nil
      throw StoreError.unreadable(
        url,
        StoreFormatError(
          .invalidValue(entity: part.table.name, property: part.table.columns[column].name, key: key)))
    }
    return found
  }
}
