/// A value of a property list.
package indirect enum PropertyListValue: Hashable, Sendable {
  case null
  case bool(Bool)
  case int(Int64)
  case real(Double)
  case string(String)
  case data([UInt8])
  /// Seconds since 2001-01-01 00:00:00 UTC.
  case date(Double)
  case list([PropertyListValue])
  case dictionary([String: PropertyListValue])
  /// The index of an archived object.
  case reference(Int)
  case other

  package subscript(_ key: String) -> PropertyListValue? {
    if case .dictionary(let values) = self { values[key] } else { nil }
  }
}
