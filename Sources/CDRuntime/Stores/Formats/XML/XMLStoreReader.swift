#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Reads a store from XML. Each element is allowed only in its own position, so the depth needs no limit. Any other
/// element is an error.
struct XMLStoreReader {
  private var scanner: XMLScanner
  private let builder: StoreBuilder
  /// The start of the current row, value or metadata entry.
  private var start = XMLScanner.Position(line: 1, column: 1)
  /// The starts of the metadata entries by key. `valueStarts` has the starts of the row's values by column.
  private var entryStarts: [String: XMLScanner.Position] = [:]
  private var valueStarts: [XMLScanner.Position] = []

  init(_ input: StoreInput, _ builder: StoreBuilder) {
    scanner = XMLScanner(input)
    self.builder = builder
  }

  /// Returns the position of an error: the start of its element, or the current position if the file's syntax is wrong.
  func position(of error: StoreFormatError) -> XMLScanner.Position {
    switch error.reason {
    case .truncated, .encoding, .documentType, .syntax, .otherFormat, .newerFormat, .checksum:
      scanner.position
    case .metadata(let key): entryStarts[key] ?? start
    case .unknownEntity, .unknownProperty, .invalidValue, .invalidRow, .duplicateKey, .notUnique,
      .danglingReference:
      start
    }
  }

  @_optimize(none)
  mutating func read() throws {
    try scanner.begin()
    try scanner.nextTag()
    guard scanner.tag.isNamed("cdgen"), !scanner.tag.isEnd, !scanner.tag.isEmpty else {
      throw StoreFormatError(.otherFormat)
    }
    guard let version = scanner.tag["format"].flatMap({ Int($0) }) else {
      throw StoreFormatError(.syntax("'cdgen' without a format"))
    }
    guard version > 0 else { throw StoreFormatError(.syntax("'cdgen' of an unknown format")) }
    guard version <= XMLStoreFormat.version else {
      throw StoreFormatError(.newerFormat(found: version, supported: XMLStoreFormat.version))
    }
    try scanner.nextTag()
    start = scanner.tagPosition
    let tables = try builder.begin(metadata: readMetadata())
    while true {
      try scanner.nextTag()
      if try isEnd("cdgen") { return try scanner.finish() }
      start = scanner.tagPosition
      let table = try table(among: tables)
      if !scanner.tag.isEmpty { try readRows(of: table) }
    }
  }

  /// Returns whether the tag ends an element.
  ///
  /// - Throws: An error if the tag ends another element.
  private func isEnd(_ name: StaticString) throws -> Bool {
    guard scanner.tag.isEnd else { return false }
    guard scanner.tag.isNamed(name) else { throw StoreFormatError(.syntax("'\(name)' does not end")) }
    return true
  }

  private func isEnd(_ name: [UInt8]) throws -> Bool {
    guard scanner.tag.isEnd else { return false }
    guard scanner.tag.isNamed(name) else {
      throw StoreFormatError(.syntax("'\(String(decoding: name, as: UTF8.self))' does not end"))
    }
    return true
  }

  @_optimize(none)
  private mutating func readMetadata() throws -> [String: String] {
    guard scanner.tag.isNamed("metadata"), !scanner.tag.isEnd, !scanner.tag.isEmpty else {
      throw StoreFormatError(.syntax("'metadata' was expected"))
    }
    var metadata: [String: String] = [:]
    while true {
      try scanner.nextTag()
      if try isEnd("metadata") { return metadata }
      let key = scanner.tag["key64"].flatMap(Self.textFromBase64) ?? scanner.tag["key"]
      guard scanner.tag.isNamed("entry"), let key else {
        throw StoreFormatError(.syntax("'entry' was expected"))
      }
      start = scanner.tagPosition
      // A store has about a dozen entries, but a manipulated file may have millions.
      if entryStarts.count < 100 { entryStarts[key] = start }
      guard metadata.updateValue(try encodedText(), forKey: key) == nil else {
        throw StoreFormatError(.metadata(key: key))
      }
    }
  }

  /// Reads the element's text in either encoding.
  private mutating func encodedText() throws -> String {
    let encoding = scanner.tag["encoding"]
    try scanner.readText()
    let text = try scanner.text()
    guard let encoding else { return text }
    guard encoding == "base64", let text = Self.textFromBase64(text) else {
      throw StoreFormatError(.encoding)
    }
    return text
  }

  /// Reads the element's value in either encoding; nil if the text does not have the type.
  private mutating func encodedValue(_ type: StoreColumn.ValueType) throws -> StoreValue? {
    if scanner.tag.value("encoding") == nil {
      try scanner.readText()
      return try scanner.value(type)
    }
    var text = try encodedText()
    return text.withUTF8 { XMLValue.value($0, type) }
  }

  private static func textFromBase64(_ text: String) -> String? {
    Data(base64Encoded: text).flatMap { String(validating: $0, as: UTF8.self) }
  }

  @_optimize(none)
  private func table(among tables: [StoreTable]) throws -> StoreTable {
    let element = scanner.tag.name
    guard let kind = StoreTable.Kind.allCases.first(where: { XMLStoreFormat.element($0) == element }) else {
      throw StoreFormatError(.syntax("'\(element)' was not expected"))
    }
    let name = scanner.tag["name"]
    let isNamed = kind == .objects || kind == .pairs
    if isNamed, name == nil { throw StoreFormatError(.syntax("'\(element)' without a name")) }
    guard let table = tables.first(where: { $0.kind == kind && (!isNamed || $0.name == name) }) else {
      throw StoreFormatError(.unknownEntity(name ?? ""))
    }
    return table
  }

  /// A table, with its names as bytes.
  private struct Names {
    let table: StoreTable
    let row: [UInt8]
    /// The names of the columns.
    let columns: [[UInt8]]
    /// The names of the columns that are XML attributes; empty for the other columns.
    let attributes: [[UInt8]]
    let types: [StoreColumn.ValueType]

    init(_ table: StoreTable) {
      self.table = table
      row = Array(XMLStoreFormat.rowElement(table.kind).utf8)
      columns = table.columns.map { Array($0.name.utf8) }
      attributes = table.columns.map { Array((XMLStoreFormat.attributeName($0) ?? "").utf8) }
      types = table.columns.map(\.type)
    }

    func invalid(_ column: Int, _ row: [StoreValue]) -> StoreFormatError {
      var key: Int64?
      if table.kind == .objects, case .integer(let number)? = row.first { key = number }
      return StoreFormatError(
        .invalidValue(entity: table.name, property: table.columns[column].name, key: key))
    }

    func unknown(_ name: String) -> StoreFormatError {
      StoreFormatError(.unknownProperty(entity: table.name, property: name))
    }
  }

  private mutating func readRows(of table: StoreTable) throws {
    let element = Array(XMLStoreFormat.element(table.kind).utf8)
    let names = Names(table)
    var row = [StoreValue](repeating: .null, count: table.columns.count)
    valueStarts = [XMLScanner.Position](repeating: start, count: row.count)
    while true {
      try scanner.nextTag()
      if try isEnd(element) { return }
      guard scanner.tag.isNamed(names.row) else {
        throw StoreFormatError(.syntax("'\(String(decoding: names.row, as: UTF8.self))' was expected"))
      }
      let rowStart = scanner.tagPosition
      start = rowStart
      for column in row.indices {
        row[column] = .null
        valueStarts[column] = rowStart
      }
      for attribute in scanner.tag.attributes {
        guard let column = names.attributes.firstIndex(where: { scanner.tag.has(attribute.name, $0) }) else {
          throw names.unknown(scanner.tag.string(attribute.name))
        }
        guard let value = scanner.value(attribute.value, names.types[column]) else {
          throw names.invalid(column, row)
        }
        row[column] = value
      }
      if !scanner.tag.isEmpty { try readValues(of: names, into: &row) }
      start = rowStart
      do {
        try builder.add(row, to: table)
      } catch let error as StoreFormatError {
        if case .invalidValue(_, let property, _) = error.reason,
          let column = table.columns.firstIndex(where: { $0.name == property })
        {
          start = valueStarts[column]
        }
        throw error
      }
    }
  }

  private mutating func readValues(of names: Names, into row: inout [StoreValue]) throws {
    // The values are usually in the order of the columns.
    var guess = 0
    while true {
      try scanner.nextTag()
      if try isEnd(names.row) { return }
      guard scanner.tag.isNamed("value"), let name = scanner.tag.value("name") else {
        throw StoreFormatError(.syntax("'value' was expected"))
      }
      start = scanner.tagPosition
      while guess < row.count, !scanner.tag.has(name, names.columns[guess]) { guess += 1 }
      if guess == row.count {
        guess = names.columns.firstIndex { scanner.tag.has(name, $0) } ?? row.count
      }
      guard guess < row.count else { throw names.unknown(scanner.tag.string(name)) }
      guard row[guess] == .null else { throw names.invalid(guess, row) }
      valueStarts[guess] = start
      let type = names.types[guess]
      if type == .externalData, let file = scanner.tag["file"] {
        try scanner.readText()
        _ = try scanner.text()
        row[guess] = .text(file)
      } else {
        guard let value = try encodedValue(type) else { throw names.invalid(guess, row) }
        row[guess] = value
      }
    }
  }
}
