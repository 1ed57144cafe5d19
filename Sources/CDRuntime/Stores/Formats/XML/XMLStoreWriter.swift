#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Writes a store as XML.
final class XMLStoreWriter {
  private let output: StoreOutput
  /// The text that has not yet been passed to the output.
  private var text: [UInt8] = []

  init(_ output: StoreOutput) {
    self.output = output
    text.reserveCapacity(1 << 16)
  }

  func write(_ contents: StoreContents) throws {
    add(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<cdgen format=\"\(XMLStoreFormat.version)\">\n<metadata>\n"
    )
    for (key, value) in contents.metadata.orderedByKey() {
      add("<entry")
      if Self.isWritable(key) {
        attribute("key", key)
      } else {
        attribute("key64", Data(key.utf8).base64EncodedString())
      }
      element("entry", value)
      add("\n")
    }
    add("</metadata>\n")
    for table in contents.tables { try write(table, of: contents) }
    add("</cdgen>\n")
    try output.write(text)
    text.removeAll()
  }

  private func write(_ table: StoreTable, of contents: StoreContents) throws {
    let element = XMLStoreFormat.element(table.kind)
    let row = XMLStoreFormat.rowElement(table.kind)
    add("<\(element)")
    if table.kind == .objects || table.kind == .pairs { attribute("name", table.name) }
    add(">\n")
    let attributes = table.columns.map(XMLStoreFormat.attributeName)
    // The beginning of a value's element, which is the same for all rows.
    let starts = table.columns.map { column in Array("  <value name=\"\(Self.escaped(column.name))\"".utf8) }
    let rowStart = Array("<\(row)".utf8)
    let rowEnd = Array("</\(row)>\n".utf8)
    try contents.forEachRow(of: table) { values in
      text += rowStart
      var hasValues = false
      for (column, value) in values.enumerated() where value != .null {
        guard let name = attributes[column], let value = XMLValue.text(value, table.columns[column].type),
          Self.isWritable(value)
        else {
          hasValues = true
          continue
        }
        attribute(name, value)
      }
      guard hasValues else { return try endRow() }
      add(">\n")
      for (column, value) in values.enumerated() where value != .null {
        if attributes[column] != nil,
          XMLValue.text(value, table.columns[column].type).map(Self.isWritable) == true
        {
          continue
        }
        text += starts[column]
        self.value(value, table.columns[column].type)
        text.append(UInt8(ascii: "\n"))
      }
      text += rowEnd
      try flushIfLong()
    }
    add("</\(element)>\n")
  }

  private func endRow() throws {
    add("/>\n")
    try flushIfLong()
  }

  private func flushIfLong() throws {
    guard text.count >= 1 << 15 else { return }
    try output.write(text)
    text.removeAll(keepingCapacity: true)
  }

  private func add(_ string: String) { text.append(contentsOf: string.utf8) }

  // MARK: Values

  /// Writes the rest of a value's element after the name.
  private func value(_ value: StoreValue, _ type: StoreColumn.ValueType) {
    if case (.externalData, .text(let name)) = (type, value) {
      attribute("file", name)
      return add("/>")
    }
    // Only null has no plain text, and null values have no element.
    element("value", XMLValue.text(value, type) ?? "")
  }

  /// Writes the rest of an element after its name and attributes, with a text.
  private func element(_ name: String, _ value: String) {
    if value.isEmpty { return add("/>") }
    if Self.isWritable(value) {
      text.append(UInt8(ascii: ">"))
      escape(value, isAttribute: false)
    } else {
      add(" encoding=\"base64\">")
      add(Data(value.utf8).base64EncodedString())
    }
    add("</")
    add(name)
    add(">")
  }

  private func attribute(_ name: String, _ value: String) {
    text.append(UInt8(ascii: " "))
    add(name)
    add("=\"")
    escape(value, isAttribute: true)
    text.append(UInt8(ascii: "\""))
  }

  // MARK: Characters

  /// Returns whether XML can represent all characters of a text. It cannot represent control characters other than tab
  /// and line endings, and U+FFFE and U+FFFF.
  private static func isWritable(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { bytes in
      for (index, byte) in bytes.enumerated() {
        if byte < 0x20 {
          if byte != 0x09, byte != 0x0A, byte != 0x0D { return false }
        } else if byte == 0xBF || byte == 0xBE, index >= 2, bytes[index - 1] == 0xBF, bytes[index - 2] == 0xEF
        {
          return false
        }
      }
      return true
    }
  }

  private func escape(_ string: String, isAttribute: Bool) {
    var string = string
    string.withUTF8 { bytes in
      var start = 0
      for (index, byte) in bytes.enumerated() {
        let replacement: StaticString
        switch byte {
        case UInt8(ascii: "&"): replacement = "&amp;"
        case UInt8(ascii: "<"): replacement = "&lt;"
        case UInt8(ascii: ">"): replacement = "&gt;"
        case UInt8(ascii: "\"") where isAttribute: replacement = "&quot;"
        // A reader converts a carriage return to a line feed. In an attribute, it converts tabs and line feeds to
        // spaces.
        case 0x0D: replacement = "&#13;"
        case 0x0A where isAttribute: replacement = "&#10;"
        case 0x09 where isAttribute: replacement = "&#9;"
        default: continue
        }
        text.append(contentsOf: bytes[start..<index])
        replacement.withUTF8Buffer { text.append(contentsOf: $0) }
        start = index + 1
      }
      text.append(contentsOf: bytes[start...])
    }
  }

  private static func escaped(_ name: String) -> String {
    name.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing("\"", with: "&quot;")
  }
}
