#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Reads a store from XML. Elements stand in few places, so that no depth has to be bounded: what is not expected is
/// an error.
struct XMLStoreReader {
  private let scanner: XMLScanner
  private let builder: StoreBuilder

  init(_ scanner: XMLScanner, _ builder: StoreBuilder) {
    self.scanner = scanner
    self.builder = builder
  }

  func read() throws {
    try scanner.begin()
    try scanner.nextTag()
    guard scanner.tag.name == "cdgen", !scanner.tag.isEnd, !scanner.tag.isEmpty else {
      throw StoreFormatError(.otherFormat)
    }
    guard let version = scanner.tag["format"].flatMap({ Int($0) }) else {
      throw StoreFormatError(.syntax("'cdgen' without a format"))
    }
    guard version <= XMLStoreFormat.version else {
      throw StoreFormatError(.newerFormat(found: version, supported: XMLStoreFormat.version))
    }
    try scanner.nextTag()
    let tables = try builder.begin(metadata: readMetadata())
    while true {
      try scanner.nextTag()
      if try isEnd("cdgen") { return try scanner.finish() }
      let table = try table(among: tables)
      if !scanner.tag.isEmpty { try readRows(of: table) }
    }
  }

  /// Whether the tag ends an element.
  ///
  /// - Throws: Where it ends another one.
  private func isEnd(_ name: String) throws -> Bool {
    guard scanner.tag.isEnd else { return false }
    guard scanner.tag.name == name else { throw StoreFormatError(.syntax("'\(name)' does not end")) }
    return true
  }

  private func readMetadata() throws -> [String: String] {
    guard scanner.tag.name == "metadata", !scanner.tag.isEnd, !scanner.tag.isEmpty else {
      throw StoreFormatError(.syntax("'metadata' was expected"))
    }
    var metadata: [String: String] = [:]
    while true {
      try scanner.nextTag()
      if try isEnd("metadata") { return metadata }
      let key = scanner.tag["key64"].flatMap(Self.textFromBase64) ?? scanner.tag["key"]
      guard scanner.tag.name == "entry", let key else {
        throw StoreFormatError(.syntax("'entry' was expected"))
      }
      guard metadata.updateValue(try encodedText(), forKey: key) == nil else {
        throw StoreFormatError(.metadata(key: key))
      }
    }
  }

  /// The element's text, whichever way it is written.
  private func encodedText() throws -> String {
    let encoding = scanner.tag["encoding"]
    let text = try scanner.text()
    switch encoding {
    case nil: return text
    case "base64":
      guard let text = Self.textFromBase64(text) else { throw StoreFormatError(.encoding) }
      return text
    default: throw StoreFormatError(.encoding)
    }
  }

  private static func textFromBase64(_ text: String) -> String? {
    Data(base64Encoded: text).flatMap { String(validating: $0, as: UTF8.self) }
  }

  private func table(among tables: [StoreTable]) throws -> StoreTable {
    guard let kind = StoreTable.Kind.allCases.first(where: { XMLStoreFormat.element($0) == scanner.tag.name })
    else {
      throw StoreFormatError(.syntax("'\(scanner.tag.name)' was not expected"))
    }
    let name = scanner.tag["name"]
    let isNamed = kind == .objects || kind == .pairs
    guard let table = tables.first(where: { $0.kind == kind && (!isNamed || $0.name == name) }) else {
      throw StoreFormatError(.unknownEntity(name ?? ""))
    }
    return table
  }

  private func readRows(of table: StoreTable) throws {
    let element = XMLStoreFormat.element(table.kind)
    let rowElement = XMLStoreFormat.rowElement(table.kind)
    let attributes = table.columns.map(XMLStoreFormat.attributeName)
    let empty = [StoreValue](repeating: .null, count: table.columns.count)
    var row = empty
    while true {
      try scanner.nextTag()
      if try isEnd(element) { return }
      guard scanner.tag.name == rowElement else {
        throw StoreFormatError(.syntax("'\(rowElement)' was expected"))
      }
      for column in row.indices { row[column] = .null }
      for attribute in scanner.tag.attributes {
        guard let column = attributes.firstIndex(of: attribute.name) else {
          throw StoreFormatError(.unknownProperty(entity: table.name, property: attribute.name))
        }
        row[column] = try value(attribute.value, table, column, row)
      }
      if !scanner.tag.isEmpty { try readValues(of: table, rowElement, into: &row) }
      try builder.add(row, to: table)
    }
  }

  private func readValues(of table: StoreTable, _ rowElement: String, into row: inout [StoreValue]) throws {
    // Values mostly come in the order of the columns.
    var guess = 0
    while true {
      try scanner.nextTag()
      if try isEnd(rowElement) { return }
      guard scanner.tag.name == "value", let name = scanner.tag["name"] else {
        throw StoreFormatError(.syntax("'value' was expected"))
      }
      while guess < row.count, table.columns[guess].name != name { guess += 1 }
      if guess == row.count { guess = table.columns.firstIndex { $0.name == name } ?? row.count }
      guard guess < row.count else {
        throw StoreFormatError(.unknownProperty(entity: table.name, property: name))
      }
      guard row[guess] == .null else {
        throw StoreFormatError(.invalidValue(entity: table.name, property: name, key: key(row, table)))
      }
      if table.columns[guess].type == .externalData, let file = scanner.tag["file"] {
        _ = try scanner.text()
        row[guess] = .text(file)
      } else {
        row[guess] = try value(encodedText(), table, guess, row)
      }
    }
  }

  private func key(_ row: [StoreValue], _ table: StoreTable) -> Int64? {
    if table.kind == .objects, case .integer(let key)? = row.first { key } else { nil }
  }

  private func value(
    _ text: String, _ table: StoreTable, _ column: Int, _ row: [StoreValue]
  ) throws -> StoreValue {
    if let value = Self.value(text, table.columns[column].type) { return value }
    throw StoreFormatError(
      .invalidValue(entity: table.name, property: table.columns[column].name, key: key(row, table)))
  }

  /// The value of a text; nil where it is none of the type.
  private static func value(_ text: String, _ type: StoreColumn.ValueType) -> StoreValue? {
    switch type {
    case .string, .decimal, .url, .json: return .text(text)
    case .key, .count, .integer: return Int64(text).map(StoreValue.integer)
    case .bool:
      switch text {
      case "true", "1": return .integer(1)
      case "false", "0": return .integer(0)
      default: return nil
      }
    case .real: return Double(text).map(StoreValue.real)
    case .date: return XMLDate.seconds(text).map(StoreValue.real)
    case .data, .externalData: return Data(base64Encoded: text).map(StoreValue.bytes)
    case .uuid:
      return UUID(uuidString: text).map { id in withUnsafeBytes(of: id.uuid) { .bytes(Data($0)) } }
    }
  }
}
