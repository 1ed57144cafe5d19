#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A column of a store's rows, with what its values mean.
///
/// ```swift
/// func numbers(of table: StoreTable) -> [String] {
///   table.columns.filter { $0.type == .key }.map(\.name)
/// }
/// ```
public struct StoreColumn: Hashable, Sendable {
  /// What a column's values mean, and so of which kind they are. Any of them may be null where the model allows it.
  public enum ValueType: String, Hashable, Sendable, CaseIterable {
    /// ``StoreValue/integer(_:)``: a number of an object, as its key and those of the objects it refers to.
    case key
    /// ``StoreValue/integer(_:)``: how often an object was saved, a place in an order, a number of a save.
    case count
    /// ``StoreValue/integer(_:)``.
    case integer
    /// ``StoreValue/integer(_:)``: 0 or 1.
    case bool
    /// ``StoreValue/real(_:)``.
    case real
    /// ``StoreValue/real(_:)``: seconds since 2001-01-01 00:00:00 UTC.
    case date
    /// ``StoreValue/text(_:)``.
    case string
    /// ``StoreValue/text(_:)``: digits, with a point and a sign where there are.
    case decimal
    /// ``StoreValue/text(_:)``.
    case url
    /// ``StoreValue/text(_:)``.
    case json
    /// ``StoreValue/bytes(_:)``.
    case data
    /// ``StoreValue/bytes(_:)``: 16 of them.
    case uuid
    /// ``StoreValue/bytes(_:)``, or ``StoreValue/text(_:)``, which is the name of the file beside the store that
    /// has them.
    case externalData
  }

  /// The name: that of the attribute or relationship, `composite.field`, or `relationship.position` for the place in
  /// an ordered to-many relationship whose inverse this is. Those that are no property begin with an underscore.
  public let name: String
  /// What the values mean.
  public let type: ValueType

  init(_ name: String, _ type: ValueType) {
    self.name = name
    self.type = type
  }
}

/// A kind of rows of a store: the objects of an entity, the pairs of a relationship, or what the store keeps for
/// itself.
///
/// ```swift
/// func entities(of contents: StoreContents) -> [String] {
///   contents.tables.filter { $0.kind == .objects }.map(\.name)
/// }
/// ```
public struct StoreTable: Hashable, Sendable {
  /// What the rows are.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// The next free key of each entity that inherits from none: `_entity`, `_next`.
    case keys
    /// Objects of just the entity that the table is named after: `_key`, `_version`, and a column for each
    /// stored property.
    case objects
    /// Pairs of a relationship that neither side has a column for: `_source`, `_target`, and the places in the order
    /// of either side, `_position` and `_inverse_position`, where it has one.
    case pairs
    /// The newest saves: `_id`, `_time`, `_origin`, `_author`, `_changes`. See <doc:SQLiteLayout>.
    case history
  }

  /// What the rows are.
  public let kind: Kind
  /// The name: that of an entity, `Entity.relationship` for pairs, `_keys` or `_history`.
  public let name: String
  /// The columns, in the order of a row's values.
  public let columns: [StoreColumn]
  /// The place among the store's tables.
  let place: Int
}

/// A value as a store's file has it: one of the five kinds that SQLite has too. What it means, its column says.
///
/// ```swift
/// let row: [StoreValue] = [.integer(1), .integer(1), .text("Walden"), .null]
/// ```
public enum StoreValue: Hashable, Sendable {
  /// No value.
  case null
  /// A whole number; 0 or 1 for a Bool.
  case integer(Int64)
  /// A number; seconds since 2001-01-01 00:00:00 UTC for a date.
  case real(Double)
  /// Text; also a decimal number, a URL, and the JSON of a codable type.
  case text(String)
  /// Bytes; 16 of them for a UUID.
  case bytes(Data)
}
