#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A column of a store's rows, with the meaning of its values.
///
/// ```swift
/// func numbers(of table: StoreTable) -> [String] {
///   table.columns.filter { $0.type == .key }.map(\.name)
/// }
/// ```
public struct StoreColumn: Hashable, Sendable {
  /// The meaning of a column's values, which determines their type. Any value may be null if the model allows it.
  public enum ValueType: String, Hashable, Sendable, CaseIterable {
    /// ``StoreValue/integer(_:)``: the number of an object, either its own key or a reference to another object.
    case key
    /// ``StoreValue/integer(_:)``: the version of an object, a position in an ordered relationship, or the number of a
    /// save.
    case count
    /// ``StoreValue/integer(_:)``.
    case integer
    /// ``StoreValue/integer(_:)``: 0 or 1.
    case bool
    /// ``StoreValue/real(_:)``.
    case real
    /// ``StoreValue/real(_:)``: a finite number of seconds since 2001-01-01 00:00:00 UTC.
    case date
    /// ``StoreValue/text(_:)``.
    case string
    /// ``StoreValue/text(_:)``: digits, with a decimal point and a sign if the number has them.
    case decimal
    /// ``StoreValue/text(_:)``: a valid URL.
    case url
    /// ``StoreValue/text(_:)``.
    case json
    /// ``StoreValue/bytes(_:)``.
    case data
    /// ``StoreValue/bytes(_:)``: 16 bytes.
    case uuid
    /// ``StoreValue/bytes(_:)``, or ``StoreValue/text(_:)`` with the name of the file beside the store that contains
    /// the bytes.
    case externalData
  }

  /// The name of the column: the name of an attribute or relationship, or `composite.field`. `relationship.position` is
  /// the position in an ordered to-many relationship whose inverse is this relationship. The name of a column that is
  /// not a property begins with an underscore.
  public let name: String
  /// The meaning of the values.
  public let type: ValueType

  init(_ name: String, _ type: ValueType) {
    self.name = name
    self.type = type
  }
}

// The forms of the values. A type whose values a file shows in their stored form needs no case here.
extension StoreColumn.ValueType {
  /// The meaning of a column's values.
  init(_ type: StorageType) {
    self =
      switch type {
      case .bool: .bool
      case .decimal: .decimal
      case .date: .date
      case .uuid: .uuid
      case .url: .url
      case .codable: .json
      default:
        switch type.storageClass {
        case .integer: .integer
        case .real: .real
        case .text: .string
        case .bytes: .data
        }
      }
  }

  /// Returns the value in its stored form; nil if the value does not have the type. A decimal number has a form of each
  /// engine's own, so it has none here.
  func fitted(_ value: StoreValue) -> StoreValue? {
    switch (self, value) {
    case (_, .null): return value
    case (.key, .integer), (.count, .integer), (.integer, .integer): return value
    case (.bool, .integer(let number)): return number == 0 || number == 1 ? value : nil
    case (.real, .real(let number)): return number.isNaN ? nil : value
    case (.date, .real(let seconds)): return seconds.isFinite ? value : nil
    case (.real, .integer(let number)), (.date, .integer(let number)): return .real(Double(number))
    case (.string, .text), (.json, .text): return value
    // A fetch compares the text of the column with the text of a URL.
    case (.url, .text(let text)): return URL(string: text).map { StoreValue.text($0.absoluteString) }
    case (.data, .bytes), (.externalData, .bytes): return value
    case (.uuid, .bytes(let data)): return data.count == 16 ? value : nil
    case (.externalData, .text(let name)): return UUID(uuidString: name) == nil ? nil : value
    default: return nil
    }
  }
}

/// A table of a store: the objects of an entity, the pairs of a relationship, or internal data of the store.
///
/// ```swift
/// func entities(of contents: StoreContents) -> [String] {
///   contents.tables.filter { $0.kind == .objects }.map(\.name)
/// }
/// ```
public struct StoreTable: Hashable, Sendable {
  /// The content of a table's rows.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// The next free key of each root entity: `_entity`, `_next`.
    case keys
    /// The objects of exactly the entity that gives the table its name: `_key`, `_version`, and a column for each
    /// stored property.
    case objects
    /// The pairs of a relationship that has no reference column: `_source` and `_target`. If a side is ordered, the
    /// pairs also have the positions in its order, `_position` and `_inverse_position`.
    case pairs
    /// The newest saves: `_id`, `_time`, `_origin`, `_author`, `_changes`. See <doc:SQLiteLayout>.
    case history
  }

  /// The content of the rows.
  public let kind: Kind
  /// The name of the table: the name of an entity, `Entity.relationship` for pairs, `_keys` or `_history`.
  public let name: String
  /// The columns, in the order of a row's values.
  public let columns: [StoreColumn]
  /// The index of the table in the store.
  let index: Int
}

/// A value in a store's file. It has one of SQLite's five types. The column gives its meaning.
///
/// ```swift
/// let row: [StoreValue] = [.integer(1), .integer(1), .text("Walden"), .null]
/// ```
public enum StoreValue: Hashable, Sendable {
  /// No value.
  case null
  /// An integer; 0 or 1 for a Bool.
  case integer(Int64)
  /// A floating-point number; seconds since 2001-01-01 00:00:00 UTC for a date.
  case real(Double)
  /// Text. Decimal numbers, URLs and the JSON of codable types are texts too.
  case text(String)
  /// Bytes; 16 bytes for a UUID.
  case bytes(Data)
}
