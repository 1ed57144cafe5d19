import CDRuntime

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The schemas of a store: its own one, and the one with the tables of its version.
///
/// They are the same schema, unless a migration has written the tables beside: see ``MigrationBeside``. An entry of the
/// metadata then names the other schema.
struct StoreSchemas: Hashable, Sendable {
  /// The schema by whose name programs open the store. It has the metadata and the history.
  let own: String
  /// The schema with the tables of objects, of pairs and of next keys.
  let tables: String

  /// The key of the entry of the metadata that names the schema with the tables. Without it, they are in the store's own.
  static let metadataKey = "tableSchema"

  /// The tables that stay in the store's own schema.
  private static let fixed: Set<String> = ["_cdgen_metadata", "_cdgen_history"]

  /// - Parameters:
  ///   - own: The schema by whose name programs open the store.
  ///   - entries: The entries of the metadata.
  init(_ own: String, entries: [String: String] = [:]) {
    self.own = own
    // A name that no migration has made leads to no tables, so that the store counts as damaged.
    tables = entries[Self.metadataKey].flatMap { Self.isSchema($0, of: own) ? $0 : nil } ?? own
  }

  /// The name of a schema beside a store's own one.
  static func beside(_ own: String, number: Int) -> String { PostgresTables.name("\(own)~\(number)") }

  /// Whether a schema can be one of a store's, by its name.
  ///
  /// The metadata have these names. Whoever may write to the store's own schema could write the name of another schema there,
  /// which a program with more rights would then read, or even drop.
  static func isSchema(_ name: String, of own: String) -> Bool {
    if name == own { return true }
    if let number = Int(name.dropFirst(own.count + 1)), beside(own, number: number) == name { return true }
    // A long name ends with a checksum instead of the number.
    guard name.utf8.count > PostgresTables.longestName - 4 else { return false }
    return (2...mostLongNames).contains { beside(own, number: $0) == name }
  }

  /// The greatest number of a schema with a long name that is found again.
  private static let mostLongNames = 10_000

  /// Whether the tables are not in the store's own schema.
  var areTwo: Bool { own != tables }

  /// The name of a table with its schema.
  func table(_ name: String) -> String {
    PostgresTables.systemTable(name, schema: Self.fixed.contains(name) ? own : tables)
  }

  /// The statement that reads the entry of the metadata that names the schema with the tables.
  static func pointer(of own: String) -> String {
    #"SELECT "value" FROM \#(PostgresTables.systemTable("_cdgen_metadata", schema: own)) "#
      + #"WHERE "key" = \#(SQLText.literal(metadataKey))"#
  }
}

/// What the metadata record about schemas beside the store's own one.
struct SchemaRecord: Codable, Equatable {
  /// The key of the entry of the metadata.
  static let metadataKey = "tableSchemas"

  /// A migration that has not ended, or that was killed.
  struct Attempt: Codable, Equatable {
    let schema: String
    let tables: [String]
  }

  /// The number of the last schema beside. No number is used twice, so that nobody mistakes a schema for an earlier one.
  var number = 1
  /// The migration whose tables are not in use yet.
  var attempt: Attempt?
  /// The tables that nobody uses any more and that are still there, by their schema.
  var unused: [String: [String]] = [:]

  /// - Parameters:
  ///   - text: The text of the entry; nil for a store that has no schema beside.
  ///   - own: The store's own schema.
  /// - Throws: ``StoreError/damaged(_:reason:)``.
  init(_ text: String?, of own: String, url: URL) throws(StoreError) {
    guard let text else { return }
    do { self = try JSONDecoder().decode(Self.self, from: Data(text.utf8)) } catch {
      throw .damaged([url], reason: "the entry '\(Self.metadataKey)' of the metadata cannot be read")
    }
    if let other = others.keys.sorted().first(where: { !StoreSchemas.isSchema($0, of: own) }) {
      throw .damaged(
        [url],
        reason:
          "the entry '\(Self.metadataKey)' of the metadata names the schema '\(other)', which is not the store's"
      )
    }
  }

  private init() {}

  /// The record of a store that has no schema beside.
  static let none = SchemaRecord()

  /// The text of the entry.
  func text() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return String(decoding: try encoder.encode(self), as: UTF8.self)
  }

  /// All tables that are not in use, by their schema.
  var others: [String: [String]] {
    guard let attempt else { return unused }
    return unused.merging([attempt.schema: attempt.tables]) { $0 + $1 }
  }

  /// Starts another migration. An earlier one that has not ended must not use its tables any more.
  mutating func begin(_ attempt: Attempt) {
    unused = others
    self.attempt = attempt
  }

  /// Gives up a migration. Nothing changes if it has ended, or if another one has begun.
  mutating func abandon(_ schema: String) {
    guard attempt?.schema == schema else { return }
    unused = others
    attempt = nil
  }
}
