#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

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
