/// The format of XML stores, as <doc:StoreTypes> describes it.
struct XMLStoreFormat: StoreFormat {
  static let version = 1

  let name = "xml"

  @_optimize(none)
  func recognizes(_ start: [UInt8]) -> Bool {
    let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let text = (start.starts(with: byteOrderMark) ? start.dropFirst(3) : start[...])
      .drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
    // XML in another encoding is recognized too, so that the reader can refuse it with a reason.
    return ["<?", "<!--", "<cdgen"].contains { text.starts(with: $0.utf8) }
      || [[0xFE, 0xFF], [0xFF, 0xFE], [0x00, 0x3C], [0x3C, 0x00]].contains {
        start.starts(with: $0 as [UInt8])
      }
  }

  func write(_ contents: StoreContents, to output: StoreOutput) throws {
    try XMLStoreWriter(output).write(contents)
  }

  func read(_ input: StoreInput, into builder: StoreBuilder) throws {
    var reader = XMLStoreReader(input, builder)
    do {
      try reader.read()
    } catch var error as StoreFormatError {
      if error.line == nil {
        let position = reader.position(of: error)
        (error.line, error.column) = (position.line, position.column)
      }
      throw error
    }
  }

  /// The name of the XML attribute for a column that is not a property: the column's name without the underscore. Nil
  /// for a property.
  static func attributeName(_ column: StoreColumn) -> String? {
    column.name.utf8.first == UInt8(ascii: "_") ? String(column.name.dropFirst()) : nil
  }

  /// The name of the element that contains a table's rows.
  static func element(_ kind: StoreTable.Kind) -> String { kind.rawValue }

  /// The name of the element of a row.
  static func rowElement(_ kind: StoreTable.Kind) -> String { kind == .objects ? "object" : "row" }
}
