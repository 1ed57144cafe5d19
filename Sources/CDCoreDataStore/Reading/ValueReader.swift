import CDModel
import CDRuntime

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Converts a value of a Core Data store to a value of a cdgen store.
struct ValueReader {
  /// The type of an attribute's values.
  private enum Kind {
    case bool, date, data, uuid, url, decimal
    case integer(ClosedRange<Int64>)
    case real(isFloat: Bool)
    case codable(String)
    /// A type whose values have the same form in both stores.
    case plain(AttributeTraits)
  }

  struct Problem: Error {
    let reason: String
  }

  let isMandatory: Bool
  /// Whether the column is a mandatory field of an optional composite. It needs a value if another field has one.
  let isMandatoryField: Bool
  /// Whether the attribute is mandatory and derived. A save calculates the value that the store does not have.
  let isMandatoryDerivation: Bool
  private let kind: Kind
  private let typeName: String
  private let records: ExternalRecords?
  /// The value of a mandatory attribute without a value in the store: its default, or the empty value of its type.
  let substitute: StoreValue?
  /// Whether ``substitute`` is the default.
  let hasDefault: Bool

  /// Creates a reader. Nil if the column is not an attribute's.
  ///
  /// - Parameter column: The column of an attribute, or of a composite's field.
  init?(_ column: StoredColumn, _ graph: EntityGraph, _ records: ExternalRecords) {
    guard case .attribute(let attribute) = column.property else { return nil }
    let described = column.field ?? attribute
    guard let kind = Self.kind(described.type, graph) else { return nil }
    self.kind = kind
    typeName = described.type.schemaName
    self.records = attribute.storesExternally ? records : nil
    isMandatory =
      !attribute.isOptional && column.field?.isOptional != true && attribute.derivation == nil
    isMandatoryField = attribute.isOptional && column.field?.isOptional == false
    isMandatoryDerivation = !attribute.isOptional && attribute.derivation != nil
    if case .value(let value)? = described.defaultValue, let stored = StoreValue(storing: value) {
      substitute = stored
      hasDefault = true
    } else {
      substitute = Self.empty(described.type, kind, graph)
      hasDefault = false
    }
  }

  private static func kind(_ type: AttributeType, _ graph: EntityGraph) -> Kind? {
    switch type {
    case .bool: .bool
    case .float: .real(isFloat: true)
    case .double: .real(isFloat: false)
    case .decimal: .decimal
    case .date: .date
    case .data: .data
    case .uuid: .uuid
    case .url: .url
    case .codable(let type, _): .codable(type)
    case .enumeration(let name):
      graph.enumeration(name).flatMap { enumeration in
        if case .enumeration = enumeration.rawType { return nil }
        return Self.kind(enumeration.rawType, graph)
      }
    default: type.traits.map { $0.integerRange.map(Kind.integer) ?? .plain($0) }
    }
  }

  private static func empty(_ type: AttributeType, _ kind: Kind, _ graph: EntityGraph) -> StoreValue? {
    if case .enumeration(let name) = type {
      return graph.enumeration(name)?.cases.first.flatMap { StoreValue(storing: $0.rawValue) }
    }
    return switch kind {
    case .bool, .integer: .integer(0)
    case .real, .date: .real(0)
    case .decimal: .text("0")
    case .data: .bytes(Data())
    case .uuid: .bytes(Data(count: 16))
    case .url, .codable: nil
    case .plain(let traits): StoreValue(storing: traits.empty)
    }
  }

  // MARK: Values

  /// Converts a value.
  ///
  /// - Throws: ``Problem`` if the attribute cannot have the value.
  func value(_ source: SourceValue) throws(Problem) -> StoreValue {
    if source == .null { return .null }
    switch (kind, source) {
    // As in Core Data, where a property of type Bool shows any number other than 0 as true.
    case (.bool, .integer(let number)): return .integer(number == 0 ? 0 : 1)
    case (.integer(let range), .integer(let number)):
      guard range.contains(number) else { throw Problem(reason: "a number that does not fit \(typeName)") }
      return .integer(number)
    case (.integer(let range), .real(let number)):
      guard let exact = Int64(exactly: number), range.contains(exact) else {
        throw Problem(reason: "a number that does not fit \(typeName)")
      }
      return .integer(exact)
    case (.real(let isFloat), .integer(let number)):
      return .real(try isFloat ? float(Double(number)) : Double(number))
    case (.real(let isFloat), .real(let number)): return .real(try isFloat ? float(number) : number)
    case (.date, .integer(let seconds)): return .real(Double(seconds))
    case (.date, .real(let seconds)) where seconds.isFinite: return .real(seconds)
    case (.decimal, .integer(let number)): return .text(String(number))
    case (.decimal, .real(let number)): return .text(try decimal("\(number)"))
    // SQLite stores NaN as NULL for the other number types, so it is NULL here too.
    case (.decimal, .text("NaN")): return .null
    case (.decimal, .text(let text)): return .text(try decimal(text))
    case (.uuid, .bytes(let data)) where data.count == 16: return source.stored
    case (.uuid, .text(let text)):
      guard let id = UUID(uuidString: text) else { break }
      return .bytes(withUnsafeBytes(of: id.uuid) { Data($0) })
    case (.url, .text(let text)):
      guard URL(string: text) != nil else { throw Problem(reason: "text that is not a URL") }
      return .text(text)
    case (.data, .bytes(let data)): return .bytes(try contents(data))
    case (.codable(let type), .bytes(let data)):
      guard let json = ArchivedValue.json([UInt8](try contents(data)), type: type) else {
        throw Problem(
          reason:
            "an archive that cannot be decoded as '\(type)'; an attribute of type Data would keep the archive"
        )
      }
      return .text(json)
    case (.plain(let traits), _) where source.storageClass == traits.storageClass: return source.stored
    default: break
    }
    throw Problem(reason: "\(source.kind), which is not of type \(typeName)")
  }

  /// The nearest number of type Float. A number outside its range would become infinite.
  private func float(_ number: Double) throws(Problem) -> Double {
    let rounded = Double(Float(number))
    guard rounded.isFinite || !number.isFinite else {
      throw Problem(reason: "a number that does not fit \(typeName)")
    }
    return rounded
  }

  private func contents(_ data: Data) throws(Problem) -> Data {
    guard let records else { return data }
    switch records.value(data) {
    case .success(let value): return value
    case .failure(let problem): throw Problem(reason: problem.reason)
    }
  }

  /// The digits of a number without an exponent. SQLite stores a decimal that fits as a number, and the shortest text
  /// of that number restores it.
  private func decimal(_ text: String) throws(Problem) -> String {
    guard text.utf8.count < 200, let value = Decimal(wholeText: text), !value.isNaN else {
      throw Problem(reason: "an invalid Decimal")
    }
    return value.description
  }
}

extension SourceValue {
  /// Nil for null, and for text that cannot be read.
  fileprivate var storageClass: AttributeTraits.StorageClass? {
    switch self {
    case .null, .brokenText: nil
    case .integer: .integer
    case .real: .real
    case .text: .text
    case .bytes: .bytes
    }
  }
}
